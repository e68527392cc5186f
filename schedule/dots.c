/* dots.c: which products of narrow numbers processors have dot products for, and the intrinsics of these. */
#include "schedule/generic.h"

static const generic_dot dots[] = {
    {TN_U8, TN_I8, TN_I32, {"dot4_u8i8", "dot4_u8i8_x8", "dot4_u8i8_x4"}, 4, false},
    {TN_I8, TN_U8, TN_I32, {"dot4_u8i8", "dot4_u8i8_x8", "dot4_u8i8_x4"}, 4, false},
    {TN_I8, TN_I8, TN_I32, {"dot4_i8i8", "dot4_i8i8_x8", "dot4_i8i8_x4"}, 4, true},
    {TN_BF16, TN_BF16, TN_F32, {"dot2_bf16", "dot2_bf16_x8", "dot2_bf16_x4"}, 2, false},
};

const generic_dot *generic_find_dot(tn_dtype left, tn_dtype right, tn_dtype sum) {
  for (int i = 0; i < RUNTIME_COUNT(dots); i++)
    if (dots[i].left == left && dots[i].right == right && dots[i].sum == sum) return &dots[i];
  return NULL;
}

int generic_dot_lanes(const tn_machine *m, const generic_dot *dot) {
  return dot->group == 2 ? m->dot_bf16_lanes : m->dot_i8_lanes;
}

bool generic_dot_has_halves(const tn_machine *m, const generic_dot *dot) {
  return dot->group == 2 ? m->dot_bf16_halves : m->dot_i8_halves;
}

const char *generic_dot_intrin(const generic_dot *dot, int64_t lanes) {
  return dot->intrin[lanes >= 16 ? 0 : lanes >= 8 ? 1 : 2];
}
