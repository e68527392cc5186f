/* Every pass: text in, text out, and the same effect on memory before and after. */
#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *passes, *in, *out;
  const char *says; /* part of a warning, or NULL */
} row;

#define A8 "in A: float32[8]; out C: float32[8] "
#define GUARDED "in A: float32[1024]; out C: float32[1024] "

/* A block T of N floats; I vectors are set to zero and updated 8 times. */
#define TILE(n, i)                                                                                         \
  "in A: float32[128]; out C: float32[" n "] { allocate(T: Pointer(local float32), float32, [" n "]), storage_scope = local { for (i: int32, 0, " i ") " \
  "{ T[ramp(i*16, 1, 16)] = broadcast(0f32, 16) } for (k: int32, 0, 8) { for (i: int32, 0, " i ") { "
#define TILE_OUT(i) "for (i: int32, 0, " i ") { C[ramp(i*16, 1, 16)] = T[ramp(i*16, 1, 16)] } } }"

static const row rows[] = {
    /* loop_kinds */
    {"parallel inside parallel runs serially", "loop_kinds",
     "out C: float32[4, 4] { for (i: int32, 0, 4) \"parallel\" { for (j: int32, 0, 4) \"parallel\" { C[i, j] = 1f32 } "
     "} }",
     "for (i: int32, 0, 4) \"parallel\" {\n  for (j: int32, 0, 4) {\n    C[i, j] = 1f32\n  }\n}\n",
     "the parallel loop \"j\" runs serially: it is inside another parallel loop"},
    {"vectorized around vectorized runs serially", "loop_kinds",
     "out C: float32[4, 4] { for (i: int32, 0, 4) \"vectorized\" { for (j: int32, 0, 4) \"vectorized\" { C[i, j] = "
     "1f32 } } }",
     "for (i: int32, 0, 4) {\n  for (j: int32, 0, 4) \"vectorized\" {\n    C[i, j] = 1f32\n  }\n}\n",
     "another vectorized loop is inside it"},
    {"parallel inside vectorized runs serially", "loop_kinds",
     "out C: float32[4, 4] { for (i: int32, 0, 4) \"vectorized\" { for (j: int32, 0, 4) \"parallel\" { C[i, j] = 1f32 "
     "} } }",
     "for (i: int32, 0, 4) \"vectorized\" {\n  for (j: int32, 0, 4) {\n    C[i, j] = 1f32\n  }\n}\n",
     "it is inside a vectorized loop"},
    {"vectorized of unknown extent runs serially", "loop_kinds",
     "out C: float32[8] { for (i: int32, 0, 4) { for (j: int32, 0, i) \"vectorized\" { C[j] = 1f32 } } }",
     "for (i: int32, 0, 4) {\n  for (j: int32, 0, i) {\n    C[j] = 1f32\n  }\n}\n", "its extent is not a constant"},
    /* guard_loads */
    {"padding load gets its predicate", "guard_loads,simplify",
     "in A: float32[8]; out C: float32[10] { for (i: int32, 0, 10) { C[i] = select(i >= 1 && i < 9, A[i - 1]*2f32, "
     "1f32) } }",
     "for (i: int32, 0, 10) {\n  C[i] = select(i >= 1 && i < 9, A[i - 1, predicate = i >= 1 && i < 9]*2f32, 1f32)\n}\n",
     NULL},
    {"a padded load with zero is the load alone", "guard_loads",
     "in A: float32[8]; out C: float32[10] { for (i: int32, 0, 10) { C[i] = select(i < 8, A[i], 0f32) } }",
     "for (i: int32, 0, 10) {\n  C[i] = A[i, predicate = i < 8]\n}\n", NULL},
    {"the other side gets the opposite", "guard_loads",
     "in A: float32[8]; out C: float32[10] { for (i: int32, 0, 10) { C[i] = select(i >= 8, 1f32, A[i]) } }",
     "for (i: int32, 0, 10) {\n  C[i] = select(i >= 8, 1f32, A[i, predicate = !(i >= 8)])\n}\n", NULL},
    {"nested selects make a conjunction", "guard_loads",
     "in A: float32[8]; out C: float32[10] { for (i: int32, 0, 10) "
     "{ C[i] = select(i < 9, select(i < 8, A[i], 2f32), 1f32) } }",
     "for (i: int32, 0, 10) {\n  C[i] = select(i < 9, select(i < 8, A[i, predicate = i < 9 && i < 8], 2f32), "
     "1f32)\n}\n",
     NULL},
    {"a load that stays inside has none", "guard_loads",
     A8 "{ for (i: int32, 0, 8) { C[i] = select(i < 4, A[i], 1f32) } }",
     "for (i: int32, 0, 8) {\n  C[i] = select(i < 4, A[i], 1f32)\n}\n", NULL},
    {"a branch proves a load inside", "guard_loads",
     "in A: float32[8]; out C: float32[10] { for (i: int32, 0, 10) { if (i < 8) { C[i] = select(i < 4, A[i], 1f32) } } "
     "}",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    C[i] = select(i < 4, A[i], 1f32)\n  }\n}\n", NULL},
    {"the right side of && is guarded by the left", "guard_loads",
     "in A: bool[8]; out C: bool[10] { for (i: int32, 0, 10) { C[i] = i < 8 && A[i] } }",
     "for (i: int32, 0, 10) {\n  C[i] = i < 8 && A[i, predicate = i < 8]\n}\n", NULL},
    {"the right side of || by the left's opposite", "guard_loads",
     "in A: bool[8]; out C: bool[10] { for (i: int32, 0, 10) { C[i] = i >= 8 || A[i] } }",
     "for (i: int32, 0, 10) {\n  C[i] = i >= 8 || A[i, predicate = !(i >= 8)]\n}\n", NULL},
    /* simplify */
    {"a provable guard goes", "simplify",
     A8 "{ for (o: int32, 0, 2) { for (i: int32, 0, 4) { if (o*4 + i < 8) { C[o*4 + i] = A[o*4 + i] } } } }",
     "for (o: int32, 0, 2) {\n  for (i: int32, 0, 4) {\n    C[o*4 + i] = A[o*4 + i]\n  }\n}\n", NULL},
    {"a branch never taken goes", "simplify",
     A8 "{ for (i: int32, 0, 8) { if (i < 0) { C[i] = 1f32 } else { C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  C[i] = A[i]\n}\n", NULL},
    {"a loop of one iteration is its body", "simplify",
     A8 "{ for (o: int32, 1, 2) { for (i: int32, 0, 4) { C[o*4 + i] = A[i] } } }",
     "for (i: int32, 0, 4) {\n  C[i + 4] = A[i]\n}\n", NULL},
    {"a loop of no iteration goes", "simplify",
     A8 "{ for (i: int32, 3, 3) { C[i] = 1f32 } for (i: int32, 0, 8) { C[i] = A[i] } }",
     "for (i: int32, 0, 8) {\n  C[i] = A[i]\n}\n", NULL},
    {"a branch's condition is known inside", "simplify",
     GUARDED "{ for (o: int32, 0, 52) { for (i: int32, 0, 20) { if (o*20 + i < 1024) { if (o*20 + i < 1030) "
             "{ C[o*20 + i] = A[o*20 + i] } } } } }",
     "for (o: int32, 0, 52) {\n  for (i: int32, 0, 20) {\n    if (o*20 + i < 1024) {\n      C[o*20 + i] = A[o*20 + i]\n"
     "    }\n  }\n}\n",
     NULL},
    {"its opposite is known in the else part", "simplify",
     A8 "{ for (i: int32, 0, 8) { if (i < 4) { C[i] = 1f32 } else { C[i] = A[max(i, 4)] } } }",
     "for (i: int32, 0, 8) {\n  if (i < 4) {\n    C[i] = 1f32\n  } else {\n    C[i] = A[i]\n  }\n}\n", NULL},
    /* hoist_guards */
    {"an invariant part moves out", "hoist_guards",
     "out C: float32[8, 8] { for (i: int32, 0, 10) { for (j: int32, 0, 10) { if (i < 8 && j < 8) { C[i, j] = 1f32 } } "
     "} }",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    for (j: int32, 0, 10) {\n      if (j < 8) {\n"
     "        C[i, j] = 1f32\n      }\n    }\n  }\n}\n",
     NULL},
    {"it moves out of the vectorized loop", "hoist_guards",
     "out C: float32[8, 8] { for (i: int32, 0, 10) { for (j: int32, 0, 8) \"vectorized\" { if (i < 8) { C[i, j] = 1f32 "
     "} } } }",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    for (j: int32, 0, 8) \"vectorized\" {\n      C[i, j] = 1f32\n    "
     "}\n  }\n}\n",
     NULL},
    {"not over a statement it did not guard", "hoist_guards",
     "out C: float32[10, 8] { for (i: int32, 0, 10) { for (j: int32, 0, 8) { C[i, j] = 1f32 if (i < 8) { C[i, j] = "
     "2f32 } } } }",
     "for (i: int32, 0, 10) {\n  for (j: int32, 0, 8) {\n    C[i, j] = 1f32\n    if (i < 8) {\n      C[i, j] = 2f32\n  "
     "  }\n  }\n}\n",
     NULL},
    {"not over a statement after the guarded one", "hoist_guards",
     "out C: float32[10, 8] { for (i: int32, 0, 10) { for (j: int32, 0, 8) { if (i < 8) { C[i, j] = 2f32 } C[i, j] = "
     "C[i, j] + "
     "1f32 } } }",
     "for (i: int32, 0, 10) {\n  for (j: int32, 0, 8) {\n    if (i < 8) {\n      C[i, j] = 2f32\n    }\n"
     "    C[i, j] = C[i, j] + 1f32\n  }\n}\n",
     NULL},
    {"a guard common to a sequence moves out", "hoist_guards",
     "in A: float32[8, 4]; out C: float32[8] { for (i: int32, 0, 10) { if (i < 8) { C[i] = 0f32 } "
     "for (k: int32, 0, 4) { if (i < 8) { C[i] = C[i] + A[i, k] } } } }",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    C[i] = 0f32\n    for (k: int32, 0, 4) {\n"
     "      C[i] = C[i] + A[i, k]\n    }\n  }\n}\n",
     NULL},
    {"allocations and attributes are transparent", "hoist_guards",
     "in A: float32[8]; out C: float32[8] { for (i: int32, 0, 10) { for (j: int32, 0, 2) { attr \"pragma_x\" = 1 { "
     "allocate(T: Pointer(local float32), float32, [1]), storage_scope = local { if (i < 8) { T[0] = A[i] C[i] = T[0] "
     "} } } } } }",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    for (j: int32, 0, 2) {\n      attr \"pragma_x\" = 1 {\n"
     "        allocate(T: Pointer(local float32), float32, [1]), storage_scope = local {\n          T[0] = A[i]\n"
     "          C[i] = T[0]\n        }\n      }\n    }\n  }\n}\n",
     NULL},
    {"a condition on memory stays", "hoist_guards",
     "in A: int32[8]; out C: int32[8] { for (i: int32, 0, 8) { for (j: int32, 0, 2) { if (A[i] > 0) { C[i] = 1 } } } }",
     "for (i: int32, 0, 8) {\n  for (j: int32, 0, 2) {\n    if (A[i] > 0) {\n      C[i] = 1\n    }\n  }\n}\n", NULL},
    {"a branch with an else stays", "hoist_guards",
     "out C: float32[8] { for (i: int32, 0, 8) { for (j: int32, 0, 2) { if (i < 4) { C[i] = 1f32 } else { C[i] = 2f32 "
     "} } } }",
     "for (i: int32, 0, 8) {\n  for (j: int32, 0, 2) {\n    if (i < 4) {\n      C[i] = 1f32\n    } else {\n      C[i] "
     "= 2f32\n    }\n  }\n}\n",
     NULL},
    /* tighten_loops */
    {"a guarded loop runs only that far", "tighten_loops",
     A8 "{ for (i: int32, 0, 20) { if (i < 8) { C[i] = A[i] } } }", "for (i: int32, 0, 8) {\n  C[i] = A[i]\n}\n", NULL},
    {"from both ends", "tighten_loops",
     A8 "{ for (i: int32, 0, 20) \"vectorized\" { if (i >= 2 && i <= 5) { C[i] = A[i] } } }",
     "for (i: int32, 2, 6) \"vectorized\" {\n  C[i] = A[i]\n}\n", NULL},
    {"other parts of the guard stay", "tighten_loops",
     A8 "{ for (i: int32, 0, 20) { if (i < 8 && floormod(i, 2) == 0) { C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  if (floormod(i, 2) == 0) {\n    C[i] = A[i]\n  }\n}\n", NULL},
    {"not when something is unguarded", "tighten_loops",
     A8 "{ for (i: int32, 0, 8) { C[i] = 1f32 if (i < 4) { C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  C[i] = 1f32\n  if (i < 4) {\n    C[i] = A[i]\n  }\n}\n", NULL},
    {"a readable guard of two loops stays", "tighten_loops",
     GUARDED
     "{ for (o: int32, 0, 52) { for (i: int32, 0, 20) { if (o*20 + i < 1024) { C[o*20 + i] = A[o*20 + i] } } } }",
     "for (o: int32, 0, 52) {\n  for (i: int32, 0, 20) {\n    if (o*20 + i < 1024) {\n      C[o*20 + i] = A[o*20 + "
     "i]\n    }\n  }\n}\n",
     NULL},
    /* partition */
    {"a peeled loop has a main part and a tail", "partition,simplify,tighten_loops,simplify",
     GUARDED "{ for (o: int32, 0, 52) \"peel\" { for (i: int32, 0, 20) { if (o*20 + i < 1024) { C[o*20 + i] = A[o*20 + "
             "i] } } } }",
     "for (o: int32, 0, 51) {\n  for (i: int32, 0, 20) {\n    C[o*20 + i] = A[o*20 + i]\n  }\n}\n"
     "for (i: int32, 0, 4) {\n  C[i + 1020] = A[i + 1020]\n}\n",
     NULL},
    {"the main part stays parallel", "partition,simplify,tighten_loops,simplify",
     GUARDED
     "{ for (o: int32, 0, 33) \"parallel\" \"peel\" { for (i: int32, 0, 32) \"vectorized\" { if (o*32 + i < 1030) "
     "{ if (o*32 + i < 1024) { C[o*32 + i] = A[o*32 + i] } } } } }",
     "for (o: int32, 0, 32) \"parallel\" {\n  for (i: int32, 0, 32) \"vectorized\" {\n    C[o*32 + i] = A[o*32 + i]\n  "
     "}\n}\n",
     NULL},
    {"a tail of several iterations stays parallel", "partition,simplify,tighten_loops,simplify",
     "in A: float32[10]; out C: float32[10] { for (o: int32, 0, 8) \"parallel\" \"peel\" { for (i: int32, 0, 4) "
     "{ if (o*4 + i < 10) { C[o*4 + i] = A[o*4 + i] } } } }",
     "for (o: int32, 0, 2) \"parallel\" {\n  for (i: int32, 0, 4) {\n    C[o*4 + i] = A[o*4 + i]\n  }\n}\n"
     "for (o: int32, 2, 8) \"parallel\" {\n  for (i: int32, 0, 4) {\n    if (o*4 + i < 10) {\n"
     "      C[o*4 + i] = A[o*4 + i]\n    }\n  }\n}\n",
     NULL},
    {"two peeled loops make four parts", "partition,simplify,hoist_guards,tighten_loops,simplify",
     "out C: float32[7, 7] { for (io: int32, 0, 2) \"peel\" { for (jo: int32, 0, 2) \"peel\" { for (i: int32, 0, 4) { "
     "for (j: int32, 0, 4) { if (io*4 + i < 7 && jo*4 + j < 7) { C[io*4 + i, jo*4 + j] = 1f32 } } } } } }",
     "for (i: int32, 0, 4) {\n  for (j: int32, 0, 4) {\n    C[i, j] = 1f32\n  }\n}\n"
     "for (i: int32, 0, 4) {\n  for (j: int32, 0, 3) {\n    C[i, j + 4] = 1f32\n  }\n}\n"
     "for (i: int32, 0, 3) {\n  for (j: int32, 0, 4) {\n    C[i + 4, j] = 1f32\n  }\n}\n"
     "for (i: int32, 0, 3) {\n  for (j: int32, 0, 3) {\n    C[i + 4, j + 4] = 1f32\n  }\n}\n",
     NULL},
    {"nothing to peel when the guard always holds", "partition",
     A8 "{ for (o: int32, 0, 2) \"peel\" { for (i: int32, 0, 4) { C[o*4 + i] = A[o*4 + i] } } }",
     "for (o: int32, 0, 2) {\n  for (i: int32, 0, 4) {\n    C[o*4 + i] = A[o*4 + i]\n  }\n}\n", NULL},
    /* flatten */
    {"row-major offsets", "flatten",
     "in A: float32[4, 8]; out C: float32[2, 4, 4] { for (i: int32, 0, 4) { for (j: int32, 0, 8) { "
     "C[floordiv(j, 4), i, floormod(j, 4)] = A[i, j] } } }",
     "for (i: int32, 0, 4) {\n  for (j: int32, 0, 8) {\n    C[floordiv(j, 4)*16 + i*4 + floormod(j, 4)] = A[i*8 + j]\n "
     " }\n}\n",
     NULL},
    {"fused indices meet again", "flatten",
     "in A: float32[4, 8]; out C: float32[4, 8] { for (f: int32, 0, 32) { C[floordiv(f, 8), floormod(f, 8)] = "
     "A[floordiv(f, 8), floormod(f, 8)] } }",
     "for (f: int32, 0, 32) {\n  C[f] = A[f]\n}\n", NULL},
    {"no dimension is one element", "flatten", "out C: float32[] { C[] = 1f32 }", "C[0] = 1f32\n", NULL},
    {"allocations, too", "flatten",
     "in A: float32[2, 2]; out C: float32[2, 2] { allocate(T: Pointer(global float32), float32, [2, 2]), storage_scope "
     "= "
     "global { for (i: int32, 0, 2) { T[i, 1] = A[i, 1] C[i, 1] = T[i, 1] } } }",
     "allocate(T: Pointer(global float32), float32, [4]), storage_scope = global {\n  for (i: int32, 0, 2) {\n"
     "    T[i*2 + 1] = A[i*2 + 1]\n    C[i*2 + 1] = T[i*2 + 1]\n  }\n}\n",
     NULL},
    /* vectorize */
    {"a vector loop is one ramp store", "flatten,vectorize",
     "in A: float32[4, 32]; out C: float32[4, 32] { for (i: int32, 0, 4) { for (j: int32, 0, 32) \"vectorized\" { "
     "C[i, j] = A[i, j] + 2f32 } } }",
     "for (i: int32, 0, 4) {\n  C[ramp(i*32, 1, 32)] = A[ramp(i*32, 1, 32)] + broadcast(2f32, 32)\n}\n", NULL},
    {"64 lanes stay one ramp", "vectorize",
     "in A: float32[64]; out C: float32[64] { for (j: int32, 0, 64) \"vectorized\" { C[j] = A[j] } }",
     "C[ramp(0, 1, 64)] = A[ramp(0, 1, 64)]\n", NULL},
    {"more are taken in chunks", "vectorize",
     "in A: float32[192]; out C: float32[192] { for (j: int32, 0, 192) \"vectorized\" { C[j] = A[j] } }",
     "for (j.chunk: int32, 0, 3) {\n  C[ramp(j.chunk*64, 1, 64)] = A[ramp(j.chunk*64, 1, 64)]\n}\n", NULL},
    {"chunks of a divisor", "vectorize",
     "in A: float32[100]; out C: float32[100] { for (j: int32, 0, 100) \"vectorized\" { C[j] = A[j] } }",
     "for (j.chunk: int32, 0, 2) {\n  C[ramp(j.chunk*50, 1, 50)] = A[ramp(j.chunk*50, 1, 50)]\n}\n", NULL},
    {"chunks with a rest", "vectorize",
     "in A: float32[67]; out C: float32[67] { for (j: int32, 0, 67) \"vectorized\" { C[j] = A[j] } }",
     "C[ramp(0, 1, 64)] = A[ramp(0, 1, 64)]\nC[ramp(64, 1, 3)] = A[ramp(64, 1, 3)]\n", NULL},
    {"a stride is the ramp's", "vectorize",
     "in A: float32[32]; out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { C[j] = A[j*4 + 1] } }",
     "C[ramp(0, 1, 8)] = A[ramp(1, 4, 8)]\n", NULL},
    {"a negative stride", "vectorize",
     "in A: float32[8]; out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { C[j] = A[7 - j] } }",
     "C[ramp(0, 1, 8)] = A[ramp(7, -1, 8)]\n", NULL},
    {"what is no ramp is gathered", "vectorize",
     "in A: float32[8]; out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { C[j] = A[floordiv(j, 2)] } }",
     "C[ramp(0, 1, 8)] = A[floordiv(ramp(0, 1, 8), broadcast(2, 8))]\n", NULL},
    {"an invariant load stays scalar", "vectorize",
     "in A: float32[4]; in B: float32[8]; out C: float32[8] { for (k: int32, 0, 4) { for (j: int32, 0, 8) "
     "\"vectorized\" { "
     "C[j] = C[j] + A[k]*B[j] } } }",
     "for (k: int32, 0, 4) {\n  C[ramp(0, 1, 8)] = C[ramp(0, 1, 8)] + broadcast(A[k], 8)*B[ramp(0, 1, 8)]\n}\n", NULL},
    {"a guard on the lane masks loads and stores", "vectorize",
     "in A: float32[10]; out C: float32[10] { for (o: int32, 0, 2) { for (j: int32, 0, 8) \"vectorized\" { "
     "if (o*8 + j < 10) { C[o*8 + j] = A[o*8 + j] } } } }",
     "for (o: int32, 0, 2) {\n  C[ramp(o*8, 1, 8), predicate = ramp(o*8, 1, 8) < broadcast(10, 8)] = "
     "A[ramp(o*8, 1, 8), predicate = ramp(o*8, 1, 8) < broadcast(10, 8)]\n}\n",
     NULL},
    {"an invariant load under a mask that may leave", "vectorize",
     "in A: float32[4]; out C: float32[10] { for (o: int32, 0, 2) { for (j: int32, 0, 8) \"vectorized\" { "
     "if (o*8 + j < 4) { C[o*8 + j] = A[o*4] } } } }",
     "for (o: int32, 0, 2) {\n  C[ramp(o*8, 1, 8), predicate = ramp(o*8, 1, 8) < broadcast(4, 8)] = "
     "A[broadcast(o*4, 8), predicate = ramp(o*8, 1, 8) < broadcast(4, 8)]\n}\n",
     NULL},
    {"an invariant condition stays a branch", "vectorize",
     "in A: float32[8]; out C: float32[8] { for (i: int32, 0, 8) { for (j: int32, 0, 8) \"vectorized\" { "
     "if (i < 4 && j >= i) { C[j] = A[j] } } } }",
     "for (i: int32, 0, 8) {\n  if (i < 4) {\n    C[ramp(0, 1, 8), predicate = ramp(0, 1, 8) >= broadcast(i, 8)] = "
     "A[ramp(0, 1, 8), predicate = ramp(0, 1, 8) >= broadcast(i, 8)]\n  }\n}\n",
     NULL},
    {"both sides of a masked branch", "vectorize",
     "out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { if (j < 3) { C[j] = 1f32 } else { C[j] = 2f32 } } }",
     "C[ramp(0, 1, 8), predicate = ramp(0, 1, 8) < broadcast(3, 8)] = broadcast(1f32, 8)\n"
     "C[ramp(0, 1, 8), predicate = ramp(0, 1, 8) >= broadcast(3, 8)] = broadcast(2f32, 8)\n",
     NULL},
    {"a padded load keeps its own predicate", "guard_loads,vectorize",
     "in A: float32[8]; out C: float32[10] { for (j: int32, 0, 10) \"vectorized\" { C[j] = select(j >= 1 && j < 9, A[j "
     "- 1], "
     "0f32) } }",
     "C[ramp(0, 1, 10)] = A[ramp(-1, 1, 10), predicate = ramp(0, 1, 10) >= broadcast(1, 10) && ramp(0, 1, 10) < "
     "broadcast(9, 10)]\n",
     NULL},
    {"a serial loop inside is widened", "vectorize",
     "in A: float32[64]; out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { C[j] = 0f32 for (k: int32, 0, 8) { "
     "C[j] = C[j] + A[k*8 + j] } } }",
     "C[ramp(0, 1, 8)] = broadcast(0f32, 8)\nfor (k: int32, 0, 8) {\n"
     "  C[ramp(0, 1, 8)] = C[ramp(0, 1, 8)] + A[ramp(k*8, 1, 8)]\n}\n",
     NULL},
    {"an allocation inside grows by the lanes", "vectorize",
     "in A: float32[8]; out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { allocate(T: Pointer(local float32), "
     "float32, [2]), storage_scope = local { T[1] = A[j] C[j] = T[1] } } }",
     "allocate(T: Pointer(local float32), float32, [16]), storage_scope = local {\n"
     "  T[ramp(8, 1, 8)] = A[ramp(0, 1, 8)]\n  C[ramp(0, 1, 8)] = T[ramp(8, 1, 8)]\n}\n",
     NULL},
    {"inner bounds that depend on the lane", "vectorize",
     "out C: float32[8] { for (j: int32, 0, 8) \"vectorized\" { for (k: int32, 0, j) { C[j] = C[j] + 1f32 } } }",
     "for (j: int32, 0, 8) {\n  for (k: int32, 0, j) {\n    C[j] = C[j] + 1f32\n  }\n}\n",
     "the vectorized loop \"j\" runs serially: the bounds of a loop inside it depend on it"},
    {"all lanes storing to one element", "vectorize",
     "in A: float32[8]; out C: float32[1] { for (j: int32, 0, 8) \"vectorized\" { C[0] = A[j] } }",
     "for (j: int32, 0, 8) {\n  C[0] = A[j]\n}\n", "all its iterations store to one element"},
    {"a masked condition on memory", "vectorize",
     "in A: int32[8]; out C: int32[8] { for (j: int32, 0, 8) \"vectorized\" { if (A[j] > 0) { C[j] = 1 } } }",
     "for (j: int32, 0, 8) {\n  if (A[j] > 0) {\n    C[j] = 1\n  }\n}\n", "a condition inside it reads memory"},
    /* register_tiles */
    {"loops that index a block of few registers are expanded", "register_tiles,unroll",
     TILE("64", "2") "T[ramp(i*16, 1, 16)] = T[ramp(i*16, 1, 16)] + A[ramp(k*16, 1, 16)] } } " TILE_OUT("2"),
     "allocate(T: Pointer(local float32), float32, [64]), storage_scope = local {\n  T[ramp(0, 1, 16)] = "
     "broadcast(0f32, "
     "16)\n  T[ramp(16, 1, 16)] = broadcast(0f32, 16)\n  for (k: int32, 0, 8) {\n    T[ramp(0, 1, 16)] = T[ramp(0, 1, "
     "16)] + A[ramp(k*16, 1, 16)]\n    T[ramp(16, 1, 16)] = T[ramp(16, 1, 16)] + A[ramp(k*16, 1, 16)]\n  }\n  "
     "C[ramp(0, 1, 16)] = T[ramp(0, 1, 16)]\n  C[ramp(16, 1, 16)] = T[ramp(16, 1, 16)]\n}\n",
     NULL},
    {"a block that does not fit is said", "register_tiles",
     TILE("528", "33") "T[ramp(i*16, 1, 16)] = T[ramp(i*16, 1, 16)] + A[ramp(k*16, 1, 16)] } } " TILE_OUT("33"),
     "allocate(T: Pointer(local float32), float32, [528]), storage_scope = local {\n  for (i: int32, 0, 33) {\n    "
     "T[ramp(i*16, 1, 16)] = broadcast(0f32, 16)\n  }\n  for (k: int32, 0, 8) {\n    for (i: int32, 0, 33) {\n      "
     "T[ramp(i*16, 1, 16)] = T[ramp(i*16, 1, 16)] + A[ramp(k*16, 1, 16)]\n    }\n  }\n  for (i: int32, 0, 33) {\n    "
     "C[ramp(i*16, 1, 16)] = T[ramp(i*16, 1, 16)]\n  }\n}\n",
     "the block \"T\" takes 33 registers and one more is needed, of 32 with 64 bytes"},
    {"a block indexed by data stays in memory", "register_tiles,unroll",
     "in A: int32[8]; out C: int32[8] { allocate(T: Pointer(local int32), int32, [8]), storage_scope = local { for (i: "
     "int32, 0, 8) { T[min(max(A[i], 0), 7)] = i } "
     "C[0] = T[0] } }",
     "allocate(T: Pointer(local int32), int32, [8]), storage_scope = local {\n  for (i: int32, 0, 8) {\n    "
     "T[min(max(A[i], 0), 7)] = i\n  }\n  C[0] = T[0]\n}\n",
     NULL},
    /* unroll */
    {"an unrolled loop is expanded", "unroll",
     "in A: float32[6]; out C: float32[6] { for (i: int32, 0, 2) { "
     "for (j: int32, 0, 3) \"unroll\" { C[i*3 + j] = A[i*3 + j] } } }",
     "for (i: int32, 0, 2) {\n  C[i*3] = A[i*3]\n  C[i*3 + 1] = A[i*3 + 1]\n  C[i*3 + 2] = A[i*3 + 2]\n}\n", NULL},
    {"a guard is decided by unrolling", "unroll",
     "in A: float32[8]; out C: float32[8] { for (j: int32, 0, 4) \"unroll\" { if (j < 2) { C[j] = A[j] } } }",
     "C[0] = A[0]\nC[1] = A[1]\n", NULL},
    {"the attribute unrolls innermost loops", "unroll",
     "out C: float32[4, 2] { for (i: int32, 0, 4) { attr \"pragma_auto_unroll_max_step\" = 4 { for (j: int32, 0, 2) { "
     "C[i, j] = 1f32 } } } }",
     "for (i: int32, 0, 4) {\n  C[i, 0] = 1f32\n  C[i, 1] = 1f32\n}\n", NULL},
    {"as many levels as the limit allows", "unroll",
     "out C: float32[4, 2] { attr \"pragma_auto_unroll_max_step\" = 8 { for (i: int32, 0, 4) { for (j: int32, 0, 2) { "
     "C[i, j] = 1f32 } } } }",
     "C[0, 0] = 1f32\nC[0, 1] = 1f32\nC[1, 0] = 1f32\nC[1, 1] = 1f32\nC[2, 0] = 1f32\nC[2, 1] = 1f32\n"
     "C[3, 0] = 1f32\nC[3, 1] = 1f32\n",
     NULL},
    {"a loop beyond the attribute's limit stays", "unroll",
     "out C: float32[9] { attr \"pragma_auto_unroll_max_step\" = 8 { for (i: int32, 0, 9) { C[i] = 1f32 } } }",
     "for (i: int32, 0, 9) {\n  C[i] = 1f32\n}\n", NULL},
    {"an unroll that is too large stays a loop", "unroll",
     "out C: float32[200] { for (i: int32, 0, 200) \"unroll\" { C[i] = 1f32 } }",
     "for (i: int32, 0, 200) \"unroll\" {\n  C[i] = 1f32\n}\n",
     "the loop \"i\" is not unrolled: it would make more than 100 statements"},
    {"a prefetch counts as a statement", "unroll",
     A8 "{ for (i: int32, 0, 2) \"unroll\" { prefetch(A[i*4]) C[i] = A[i] } }",
     "prefetch(A[0])\nC[0] = A[0]\nprefetch(A[4])\nC[1] = A[1]\n", NULL},
    {"loops that are not written out stay unrolled loops", "unroll",
     A8 "{ attr \"pragma_unroll_explicit\" = 0 { for (i: int32, 0, 8) \"unroll\" { C[i] = A[i] } } }",
     "attr \"pragma_unroll_explicit\" = 0 {\n  for (i: int32, 0, 8) \"unroll\" {\n    C[i] = A[i]\n  }\n}\n", NULL},
    {"those that auto_unroll_max_step takes become ones", "unroll",
     A8 "{ attr \"pragma_unroll_explicit\" = 0 { attr \"pragma_auto_unroll_max_step\" = 8 { for (i: int32, 0, 8) { C[i] "
        "= A[i] } } } }",
     "attr \"pragma_unroll_explicit\" = 0 {\n  for (i: int32, 0, 8) \"unroll\" {\n    C[i] = A[i]\n  }\n}\n", NULL},
    {"a strided loop stays so in parts", "partition",
     "out C: float32[10] { for (o: int32, 0, 3) \"parallel\" \"peel\" \"strided\" { for (i: int32, 0, 4) { if (o*4 + i < "
     "10) { C[o*4 + i] = 1f32 } } } }",
     "for (o: int32, 0, 2) \"parallel\" \"strided\" {\n  for (i: int32, 0, 4) {\n    if (o*4 + i < 10) {\n"
     "      C[o*4 + i] = 1f32\n    }\n  }\n}\nfor (o: int32, 2, 3) \"strided\" {\n  for (i: int32, 0, 4) {\n"
     "    if (o*4 + i < 10) {\n      C[o*4 + i] = 1f32\n    }\n  }\n}\n",
     NULL},
    {"prefetches are flattened and simplified", "flatten",
     "in A: float32[4, 8]; out C: float32[4] { for (i: int32, 0, 4) { prefetch(A[min(i + 1, 3), 2 + 1]) C[i] = A[i, 0] } }",
     "for (i: int32, 0, 4) {\n  prefetch(A[min(i + 1, 3)*8 + 3])\n  C[i] = A[i*8]\n}\n", NULL},
    {"a vectorized loop prefetches for its first iteration", "vectorize",
     A8 "{ for (i: int32, 0, 8) \"vectorized\" { prefetch(A[i]) C[i] = A[i] } }",
     "prefetch(A[0])\nC[ramp(0, 1, 8)] = A[ramp(0, 1, 8)]\n", NULL},
    {"prefetches of what nobody loads go", "remove_noops",
     A8 "{ allocate(T: Pointer(global float32), float32, [8]), storage_scope = global { for (i: int32, 0, 8) { T[i] = "
        "A[i] prefetch(T[i]) prefetch(A[i]) C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  prefetch(A[i])\n  C[i] = A[i]\n}\n", NULL},
    /* remove_noops */
    {"self-stores go", "remove_noops",
     A8 "{ for (i: int32, 0, 8) { C[i] = C[i] } for (i: int32, 0, 8) { C[i] = A[i] } }",
     "for (i: int32, 0, 8) {\n  C[i] = A[i]\n}\n", NULL},
    {"allocations that nobody reads go", "remove_noops",
     A8 "{ allocate(T: Pointer(global float32), float32, [8]), storage_scope = global { for (i: int32, 0, 8) { T[i] = "
        "A[i] "
        "C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  C[i] = A[i]\n}\n", NULL},
    {"an empty branch goes, its else stays", "remove_noops",
     A8 "{ for (i: int32, 0, 8) { if (i < 4) { C[i] = C[i] } else { C[i] = A[i] } } }",
     "for (i: int32, 0, 8) {\n  if (!(i < 4)) {\n    C[i] = A[i]\n  }\n}\n", NULL},
    /* calls of C functions */
    {"a call's addresses become offsets, its box a run", "flatten",
     "in A: float32[4, 8]; out C: float32[4, 8] { for (i: int32, 0, 3) { call axpy(reads(A[i, 2], [2, 4]), "
     "updates(C[i + 1, 0], [1, 8]), 2f32, 4i64) } }",
     "for (i: int32, 0, 3) {\n  call axpy(reads(A[i*8 + 2], [12]), updates(C[i*8 + 8], [8]), 2f32, 4i64)\n}\n", NULL},
    {"a call's operands are simplified", "simplify",
     "out C: int32[8] { for (i: int32, 0, 2) { call fill(writes(C[i*4 + 0*i], [4]), 4i64, min(i, 7)) } }",
     "for (i: int32, 0, 2) {\n  call fill(writes(C[i*4], [4]), 4i64, i)\n}\n", NULL},
    {"a vectorized loop around a call runs serially", "vectorize",
     "in A: float32[8]; out C: float32[8] { for (i: int32, 0, 2) \"vectorized\" { call axpy(reads(A[i*4], [4]), "
     "updates(C[i*4], [4]), 1f32, 4i64) } }",
     "for (i: int32, 0, 2) {\n  call axpy(reads(A[i*4], [4]), updates(C[i*4], [4]), 1f32, 4i64)\n}\n",
     "the vectorized loop \"i\" runs serially: it calls a function"},
    {"a call in an unrolled loop is copied", "unroll",
     "out C: int32[8] { for (i: int32, 0, 2) \"unroll\" { call fill(writes(C[i*4], [4]), 4i64, i) } }",
     "call fill(writes(C[0], [4]), 4i64, 0)\ncall fill(writes(C[4], [4]), 4i64, 1)\n", NULL},
    {"calls count towards the limit of unrolling", "unroll",
     "out C: int32[200] { for (i: int32, 0, 200) \"unroll\" { call fill(writes(C[i], [1]), 1i64, i) } }",
     "for (i: int32, 0, 200) \"unroll\" {\n  call fill(writes(C[i], [1]), 1i64, i)\n}\n",
     "the loop \"i\" is not unrolled: it would make more than 100 statements"},
    {"a guard around a call moves out of loops", "hoist_guards",
     "out C: int32[8, 4] { for (i: int32, 0, 10) { for (j: int32, 0, 4) { if (i < 8) { call fill(writes(C[i, j], [1, "
     "1]), 1i64, j) } } } }",
     "for (i: int32, 0, 10) {\n  if (i < 8) {\n    for (j: int32, 0, 4) {\n      call fill(writes(C[i, j], [1, 1]), "
     "1i64, j)\n    }\n  }\n}\n",
     NULL},
    {"what only a call reads stays", "remove_noops",
     "in A: float32[8]; out C: float32[8] { allocate(T: Pointer(global float32), float32, [8]), storage_scope = global "
     "{ for (i: int32, 0, 8) { T[i] = A[i]*2f32 C[i] = A[i] } call axpy(reads(T[0], [8]), updates(C[0], [8]), 1f32, "
     "8i64) } }",
     "allocate(T: Pointer(global float32), float32, [8]), storage_scope = global {\n  for (i: int32, 0, 8) {\n    T[i] "
     "= A[i]*2f32\n    C[i] = A[i]\n  }\n  call axpy(reads(T[0], [8]), updates(C[0], [8]), 1f32, 8i64)\n}\n",
     NULL},
    {"a block whose address a call takes stays in memory", "register_tiles,unroll",
     "out C: int32[8] { allocate(T: Pointer(local int32), int32, [2]), storage_scope = local { for (i: int32, 0, 2) { "
     "T[i] = i } call fill(updates(T[0], [2]), 2i64, 3) C[0] = T[1] } }",
     "allocate(T: Pointer(local int32), int32, [2]), storage_scope = local {\n  for (i: int32, 0, 2) {\n    T[i] = "
     "i\n  }\n  call fill(updates(T[0], [2]), 2i64, 3)\n  C[0] = T[1]\n}\n",
     NULL},
    {"nothing left is a nop", "remove_noops", "out C: float32[8] { for (i: int32, 0, 8) { C[i] = C[i] } }", "nop\n",
     NULL},
};

static tir_func *run_pass(tir_pass_context *p, tir_func *f, const char *name, size_t n) {
  for (const tir_pass *pass = tir_passes; pass->name != NULL; pass++) {
    if (strlen(pass->name) == n && strncmp(pass->name, name, n) == 0) return pass->run(p, f);
  }
  fail_msg("there is no pass %.*s", (int)n, name);
  return NULL;
}

static void pass_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.max_unrolled_body = 100}};
  tir_func *before = read_func(&read, r->in), *f = before;
  assert_int_equal(tir_check(ctx, f), TN_OK);
  for (const char *at = r->passes; *at != 0; at += strcspn(at, ","), at += *at == ',') {
    f = run_pass(&p, f, at, strcspn(at, ","));
    check_ok(ctx);
    assert_int_equal(tir_check(ctx, f), TN_OK);
  }
  check_text(print_func(&arena, f), r->out);
  const char *difference = same_effect(before, f, 1);
  if (difference != NULL) fail_msg("%s", difference);
  if (r->says != NULL) check_has(check_messages(ctx), r->says);
  if (r->says == NULL) assert_string_equal(check_messages(ctx), "");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

int test_passes(void) { return CHECK_TABLE("tir passes", rows, pass_row); }
