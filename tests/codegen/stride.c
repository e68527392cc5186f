/* Every second, third and fourth element: vectors that are taken out of what is loaded once and vectors that are stored in turns, for
 * each size of an element; nothing behind the end of memory is read or written. */
#include "tests/codegen/kit.h"

typedef struct stride_row {
  const char *name, *program, *schedule, *cpu;
  const char *has, *lacks; /* in the assembly; NULL: nothing */
} stride_row;

#define GRAY(dtype) "input X: " dtype "[64,64,3]\nC[i<64, j<64] = X[i,j,0] - X[i,j,1] - X[i,j,2]"
#define HALF(dtype) "input X: " dtype "[64,128]\nC[i<64, j<64] = X[i,2*j] + X[i,2*j+1]"
#define FEW(columns, by) "input X: f32[9," columns "*" by "-" by "+1]\nC[i<9, j<" columns "] = X[i," by "*j] * 3"
#define APART(by) "input X: f32[9," by "*3+1]\nC[i<9, j<4, k<2] = X[i," by "*j] * W[k]"
#define FOURTH(dtype) "input X: " dtype "[64,256]\nC[i<64, j<64] = (X[i,4*j] + X[i,4*j+1]) * (X[i,4*j+2] + X[i,4*j+3])"
#define WEIGHED(n, red) \
  "input X: u8[64," n ",3]\nC[i<64, j<" n "] = u8((u32(" red ")*77 + u32(X[i,j,1])*150 + u32(X[i,j,2])*29) // 256)"
#define RED "i32(X[i,j,0])"
#define GREEN "i32(X[i,j,1])"
#define BLUE "i32(X[i,j,2])"
#define COLOURS(n, value) "input X: u8[64,64," n "]\nC[i<64, j<64] = " value
#define EACH(dtype, of) "input X: " dtype "[64,64,4]\nC[i<64, j<64, c<4] = X[i,j,c] - X[i,j," of "]"
#define PIXELS(n) "split(C, j, " n "); fuse(C, j.inner, c); vectorize(C, j.inner.c.fused)"
/* Windows over colours that go by two pixels and end with the image. */
#define WINDOWS(dtype, n) \
  "input X: " dtype "[5,2*" n "+3,3]\nC[i<5, j<" n ", c<3] = X[i,2*j,c] - X[i,2*j+1,c] * X[i,2*j+2,c] + X[i,2*j+4,c]"
#define ROW(n) "split(C, j, " n "); vectorize(C, j.inner)"
#define TURNS(of, dtype) \
  "input A: " dtype "[64], B: " dtype "[64]\nC[i<64, c<" of "] = select(c%2 == 0, A[i], B[i]*" dtype "(2))"
#define WEAVE(n) "split(C, i, " n "); reorder(C, i.outer, c, i.inner); unroll(C, c); vectorize(C, i.inner)"

#define RING "split(C, j, 64); pragma(C, j.outer, loop_partition_hint, 1); vectorize(C, j.inner)"

static const stride_row stride_rows[] = {
    {"colours", GRAY("f32"), ROW("8"), "haswell", "vblendps", "vinsertps"},
    {"colours of a wide vector", GRAY("f32"), ROW("32"), "haswell", "vblendps", "vinsertps"},
    {"a ragged row", FEW("7", "1"), "vectorize(C, j)", "znver4", "{%k1}", "vinsert"},
    {"a whole register and a ragged rest", FEW("29", "1"), "vectorize(C, j)", "znver4", "{%k1}", "vinsert"},
    {"a ragged row without masks", FEW("7", "1"), "vectorize(C, j)", "haswell", NULL, "vgather"},
    {"few of every second", FEW("7", "2"), "vectorize(C, j)", "znver4", "vpermt2ps", "vinsertps"},
    {"less than a register of every second", FEW("14", "2"), "vectorize(C, j)", "znver4", "vpermt2ps", "vinsert"},
    {"less than a register of every third", FEW("11", "3"), "vectorize(C, j)", "znver4", "vpermt2ps", "vinsertps"},
    {"less than a register of every fourth", FEW("13", "4"), "vectorize(C, j)", "znver4", "vpermt2ps", "vinsertps"},
    {"some of a register, where it ends with the buffer", APART("4"), "fuse(C, j, k); vectorize(C, j.k.fused)",
     "znver4", "{%k1} {z}", "vinsertps"},
    {"a whole register, of which some", APART("5"), "fuse(C, j, k); vectorize(C, j.k.fused)", "znver4", "vpermt2ps",
     "vinsertps"},
    {"few of every second, no wide registers", FEW("5", "2"), "vectorize(C, j)", "haswell", NULL, "vgather"},
    {"colours of f64", GRAY("f64"), ROW("4"), "haswell", "vinsertf128", "vmovhp"},
    {"colours of bytes", GRAY("u8"), ROW("32"), "haswell", "vpshufb", "vpinsrb"},
    {"colours of halves", GRAY("i16"), ROW("16"), "haswell", "vpshufb", "vpinsrw"},
    {"colours on wide registers", GRAY("f32"), ROW("16"), "znver4", "vpermt2ps", "vinsert"},
    {"colours of bytes on wide registers", GRAY("u8"), ROW("64"), "znver4", "vpermt2b", "vpinsrb"},
    {"colours of bytes where bytes stay in blocks", GRAY("u8"), ROW("64"), "skylake-avx512", "vpshufb", "vpinsrb"},
    {"a weighted sum of colours", WEIGHED("64", "X[i,j,0]"), ROW("64"), "znver4", "vpdpbusd", "vpermt2b"},
    {"a weighted sum of colours, of two registers", WEIGHED("128", "X[i,j,0]"), ROW("128"), "znver4", "vpdpbusd",
     "vpermt2b"},
    {"where bytes stay in blocks", WEIGHED("64", "X[i,j,0]"), ROW("64"), "cascadelake", "vpshufb", "vpdpbusd"},
    {"signed, with bounds and numbers",
     COLOURS("3", "u8(min(max((66*" RED " + 129*" GREEN " - 25*" BLUE " + 128) // 256 + 16, 0), 255))"), ROW("64"),
     "znver4", "vpdpbusd", NULL},
    {"more than a byte holds", COLOURS("3", "u8((77*" RED " + 127*" GREEN " + 127*" BLUE ") // 128 - 3)"), ROW("64"),
     "znver4", "vpdpbusd", NULL},
    {"less than a byte holds", COLOURS("3", "i8((112*" BLUE " - 94*" GREEN " - 18*" RED ") // 256)"), ROW("64"),
     "znver4", "vpdpbusd", NULL},
    {"two of four", COLOURS("4", "u8((" GREEN "*100 + " BLUE "*28) // 128)"), ROW("64"), "znver4", "vpdpbusd", NULL},
    {"weights that take five bytes",
     COLOURS("4", "u8((61*" RED " + 131*" GREEN " + 31*" BLUE " + 29*i32(X[i,j,3])) // 256)"), ROW("64"), "znver4",
     NULL, "vpdpbusd"},
    {"no power of two below", COLOURS("3", "u8((77*" RED " + 150*" GREEN " + 28*" BLUE ") // 255)"), ROW("64"),
     "znver4", NULL, "vpdpbusd"},
    {"more than one byte of each", COLOURS("3", "u16((77*" RED " + 150*" GREEN " + 28*" BLUE ") // 4)"), ROW("64"),
     "znver4", NULL, "vpdpbusd"},
    {"bytes with a sign", "input X: i8[64,64,3]\nC[i<64, j<64] = u8((" RED "*77 + " BLUE "*29) // 256)", ROW("64"),
     "znver4", NULL, "vpdpbusd"},
    {"that end where memory does", "input X: u8[191]\nC[j<64] = u8((u32(X[3*j]) * 77 + u32(X[3*j+1]) * 179) // 256)",
     ROW("64"), "znver4", "vpdpbusd", NULL},
    {"bytes too far apart for a register",
     "input X: u8[300]\nC[j<64] = u8((u32(X[3*j]) * 77 + u32(X[3*j+40]) * 179) // 256)", ROW("64"), "znver4", NULL,
     "vpdpbusd"},
    {"a weighted sum of colours with a rest", WEIGHED("107", "X[i,j,0]"), "vectorize(C, j)", "znver4", "vpermt2b",
     NULL},
    {"a weighted sum of backward colours", WEIGHED("64", "X[i,63-j,0]"), ROW("64"), "znver4", NULL, "vpinsrb"},
    {"a weighted sum of colours, narrow", WEIGHED("64", "X[i,j,0]"), ROW("32"), "haswell", "vpshufb", "vpinsrb"},
    {"signed bytes as halves", "input X: i8[64,64,3]\nC[i<64, j<64] = i16(X[i,j,0]) - i16(X[i,j,2]) * i16(3)",
     ROW("64"), "znver4", "vpmovsxbw", NULL},
    {"one colour as halves, and no more", "input X: u8[190]\nC[j<64] = u16(X[3*j]) * u16(300)", ROW("64"), "znver4",
     NULL, "vpinsrb"},
    {"halves as bytes", "input X: i16[64,128]\nC[i<64, j<128] = i8(X[i,j] >> i16(3))", ROW("128"), "znver4", "vpermt2b",
     "vpmovwb"},
    {"rows of bf16 by even and odd lanes",
     "input X: bf16[5,96], w: bf16[96]\nC[i<5, j<96] = bf16(f32(X[i,j]) * 3 - f32(w[j]))", ROW("32"), "znver4",
     "vpermw", "vpmovzxwd"},
    {"rows of bf16, two registers", "input X: bf16[5,128]\nC[i<5, j<128] = bf16(f32(X[i,j]) * f32(X[i,j]) - f32(i))",
     ROW("64"), "znver4", "vpermw", "vpmovzxwd"},
    {"rows of bf16 that begin anywhere", "input X: bf16[5,101]\nC[i<5, j<96] = bf16(f32(X[i,j+1]) * 3 - f32(X[i,j+4]))",
     ROW("32"), "znver4", "vpermw", "vpmovzxwd"},
    {"rows of bf16 and of more f32", "input X: bf16[5,96], w: f32[96]\nC[i<5, j<96] = bf16(f32(X[i,j]) * w[j])",
     ROW("32"), "znver4", "vpmovzxwd", "vpermw"},
    {"a bf16 for all of a row",
     "input X: bf16[5,96], w: bf16[5]\nC[i<5, j<96] = bf16(f32(X[i,j]) * f32(w[i]) + f32(j) )", ROW("32"), "znver4",
     "vpermw", NULL},
    {"functions of bf16", "input X: bf16[5,96]\nC[i<5, j<96] = bf16(exp(f32(X[i,j])))", ROW("32"), "znver4",
     "vpmovzxwd", "vpermw"},
    {"rows of bf16 backwards", "input X: bf16[5,96]\nC[i<5, j<96] = bf16(f32(X[i,95-j]) * 3)", ROW("32"), "znver4",
     NULL, NULL},
    {"rows of bf16 without instructions for them", "input X: bf16[5,96]\nC[i<5, j<96] = bf16(f32(X[i,j]) * 3)",
     ROW("32"), "skylake-avx512", "vpmovzxwd", NULL},
    {"windows over colours", WINDOWS("f32", "32"), PIXELS("16"), "znver4", "valignd", "vinsertps"},
    {"windows over colours with a rest", WINDOWS("f32", "41"), PIXELS("16"), "znver4", NULL, NULL},
    {"windows over colours, one vector a row", WINDOWS("f32", "13"), "fuse(C, j, c); vectorize(C, j.c.fused)", "znver4",
     "valignd", NULL},
    {"windows over colours of f64", WINDOWS("f64", "32"), PIXELS("8"), "znver4", "valignq", "vgather"},
    {"windows over colours of halves", WINDOWS("i16", "32"), PIXELS("32"), "znver4", NULL, "vpinsrw"},
    {"windows over colours of bytes", WINDOWS("u8", "64"), PIXELS("64"), "znver4", NULL, "vpinsrb"},
    {"windows over colours, no wide registers", WINDOWS("f32", "32"), PIXELS("8"), "haswell", NULL, "valign"},
    {"windows far apart share nothing",
     "input X: f32[5,64,3]\nC[i<5, j<16, c<3] = X[i,2*j,c] + X[i,2*j+33,c] * X[i,2*j+32,c]", PIXELS("16"), "znver4",
     NULL, "valign"},
    {"windows over colours of two rows",
     "input X: f32[10,68,3]\nC[i<5, j<32, c<3] = X[2*i,2*j,c] * X[2*i,2*j+2,c] + X[2*i+1,2*j,c] * X[2*i+1,2*j+4,c]",
     PIXELS("16"), "znver4", "valignd", "vinsertps"},
    {"windows over pairs", "input X: f32[5,70,4]\nC[i<5, j<64, c<2] = X[i,j,c] + X[i,j+1,c] * X[i,j+5,c]", PIXELS("8"),
     "znver4", "valign", NULL},
    {"windows over pairs, one behind the other", "input X: f32[5,65,4]\nC[i<5, j<64, c<2] = X[i,j,c] - X[i,j+1,c]",
     PIXELS("8"), "znver4", NULL, NULL},
    {"a pixel's last byte for all of it", EACH("u8", "3"), PIXELS("16"), "znver4", "vpshufb", "vpinsrb"},
    {"a pixel's last byte, narrow", EACH("u8", "3"), PIXELS("8"), "haswell", "vpshufb", "vpinsrb"},
    {"a pixel's last value for all of it", EACH("f32", "3"), PIXELS("4"), "znver4", NULL, "vinsert"},
    {"a pixel's first byte, where none stands before", EACH("u8", "0"), PIXELS("16"), "znver4", "vpshufb", "vpinsrb"},
    {"a pixel's second value", EACH("f32", "1"), PIXELS("4"), "znver4", NULL, "vinsert"},
    {"colours of narrow registers", GRAY("f32"), ROW("4"), "nehalem", "shufps", "insertps"},
    {"halves", HALF("f32"), ROW("8"), "haswell", NULL, "vpermp"},
    {"halves of f64", HALF("f64"), ROW("8"), "haswell", NULL, "vpermp"},
    {"halves of bytes", HALF("u8"), ROW("32"), "haswell", "vpunpck", "vpinsrb"},
    {"halves of halves", HALF("i16"), ROW("32"), "haswell", "vpunpck", "vpinsrw"},
    {"halves of a short vector", HALF("f32"), ROW("4"), "haswell", NULL, "vinsertps"},
    {"fourths", FOURTH("f32"), ROW("8"), "haswell", "vshufps", "vinsertps"},
    {"fourths of bytes", FOURTH("u8"), ROW("32"), "haswell", "vpunpck", "vpinsrb"},
    {"fourths of halves", FOURTH("i16"), ROW("16"), "haswell", "vpunpck", "vpinsrw"},
    {"fourths on wide registers", FOURTH("f32"), ROW("16"), "znver4", "vpermt2ps", "vinsertps"},
    {"a window that ends where memory does",
     "input X: f32[65,129]\nC[i<64, j<64] = X[i,2*j] + X[i,2*j+1] + X[i,2*j+2] + X[i+1,2*j+2]", ROW("16"), "haswell",
     "vshufps", "vinsertps"},
    {"one element of two, and no more", "input X: f32[127]\nC[j<64] = X[2*j]", ROW("64"), "haswell", NULL, "vinsertps"},
    {"the second of three, and no more", "input X: f32[190]\nC[j<63] = X[3*j+1]", "vectorize(C, j)", "haswell", NULL,
     NULL},
    {"no whole registers", "input X: f32[64,26]\nC[i<64, j<13] = X[i,2*j] * X[i,2*j+1]", "vectorize(C, j)", "haswell",
     "vshufps", NULL},
    {"rows apart by an odd number", "input X: i32[33,65]\nC[i<32, j<32] = X[i,2*j] + X[i+1,2*j+1] + X[i,2*j+2]",
     "split(C, i, 4); split(C, j, 8); reorder(C, i.outer, j.outer, i.inner, j.inner); unroll(C, i.inner); vectorize(C, "
     "j.inner)",
     "haswell", "vshufps", "vpinsrd"},
    {"colours backwards", "input X: f32[64,64,3]\nC[i<64, j<64] = X[i,63-j,0] - X[i,63-j,2]", ROW("8"), "haswell",
     "vblendps", "vinsertps"},
    {"halves of rows that are there in part",
     "input X: f32[63,129]\nC[i<66, j<64] = select(i >= 1 && i < 64, X[i-1,2*j] + X[i-1,2*j+1] + X[i-1,2*j+2], 0.0)",
     ROW("16"), "haswell", "vshufps", NULL},
    {"a row that is chosen", "input X: f32[64,64]\nC[i<66, j<64] = X[select(i < 2, 2 - i, i - 2), j]",
     "vectorize(C, j)", "haswell", "vmovups", "vinsertps"},
    {"a mirrored border", "input X: u8[8,62]\nC[i<8, j<64] = X[i, select(j < 1, 1-j, select(j < 63, j-1, 123-j))]",
     "vectorize(C, j)", "znver4", "vpermb", "vpinsrb"},
    {"a repeated border", "input X: f32[8,61]\nC[i<8, j<64] = X[i, min(max(j-1, 0), 60)]", "vectorize(C, j)", "znver4",
     "vperm", "vinsertps"},
    {"a border that is the other end's", "input X: u8[8,256]\nC[i<8, j<256] = X[i, (j+254)%256]", "vectorize(C, j)",
     "znver4", NULL, "vpinsrb"},
    {"borders of a long vector, which lie in two of its parts",
     "input X: u8[8,509]\nC[i<8, j<512] = X[i, select(j < 3, 3-j, j-3)] + X[i, min(j, 508)]", "vectorize(C, j)",
     "znver4", NULL, "chunk"},
    {"a border whose place depends on the row", "input X: f32[8,64]\nC[i<8, j<64] = X[i, max(j-i, 0)]",
     "vectorize(C, j)", "haswell", NULL, NULL},
    {"rows that are not there",
     "input X: u8[8,30]\nC[i<12, j<32] = select(i >= 2 && i < 10 && j >= 1 && j < 31, "
     "X[i-2,j-1], u8(0))",
     "vectorize(C, j)", "znver4", "cmov", NULL},
    {"a row that goes on at its other end", "input X: f32[8,512]\nC[i<8, j<512] = X[i, (j+511)%512]", RING, "znver4",
     "vmovups", "vpextrd"},
    {"two blocks that both have an end", "input X: u8[8,512]\nC[i<8, j<512] = X[i, (j+511)%512] + X[i, (j+1)%512]",
     "split(C, j, 256); pragma(C, j.outer, loop_partition_hint, 1); vectorize(C, j.inner)", "znver4", "vmovdqu",
     "vpextr"},
    {"a row that goes on at its other end where data say so",
     "input X: f32[8,512]\nC[i<8, j<512] = select(X[i,j] > 0, X[i, (j+1)%512], 0.5)", RING, "znver4", "vmovups",
     "vpextrd"},
    {"steps of five stay", "input X: f32[640]\nC[j<128] = X[5*j]", ROW("8"), "haswell", "vinsertps", NULL},
    {"steps of five of wide registers", "input X: f32[640]\nC[j<128] = X[5*j]", ROW("16"), "znver4", "vpermt2ps",
     "vinsertps"},
    {"steps of nine stay", "input X: f32[1152]\nC[j<128] = X[9*j]", ROW("16"), "znver4", "vinsertps", NULL},
    {"every sixth byte", "input X: u8[766]\nC[j<128] = X[6*j]", ROW("64"), "znver4", "vpermt2b", "vpinsrb"},
    {"every sixth byte where bytes stay in blocks", "input X: u8[766]\nC[j<128] = X[6*j]", ROW("64"), "skylake-avx512",
     "vpinsrb", NULL},
    {"colours of twice the size, of several registers", "input X: f32[8,32,3]\nC[i<8, j<64, c<3] = X[i,j//2,c]",
     "reorder(C, i, c, j); unroll(C, c); vectorize(C, j)", "znver4", "vperm", "vinsertps"},
    {"turns that are put in order in registers", "C[b<320, i<3] = A[b,i] * 2",
     "cache_write(C, local); split(C, b, 32); fuse(C, b.inner, i); vectorize(C, b.inner.i.fused); "
     "compute_at(C.local, C, b.outer); transform_layout(C.local, [d0, d1] -> [d1, d0]); reorder(C.local, i.c, b.c); "
     "unroll(C.local, i.c); vectorize(C.local, b.c)",
     "znver4", "vperm", "(%rsp)"},
    {"every second pixel of three colours", "input X: f32[8,64,3]\nC[i<8, j<32, c<3] = X[i,2*j,c] + X[i,2*j+1,c]",
     PIXELS("16"), "znver4", "vperm", "vinsertps"},
    {"pixels that go on at the other end of their row", "input X: f32[8,640,3]\nC[i<8, j<640, c<3] = X[i,(j+7)%640,c]",
     "split(C, j, 16); pragma(C, j.outer, loop_partition_hint, 1); fuse(C, j.inner, c); vectorize(C, j.inner.c.fused)",
     "znver4", "vmovups", "vpextr"},

    {"pairs", TURNS("2", "f32"), WEAVE("8"), "haswell", "vunpckhps", "vextractps"},
    {"pairs of f64", TURNS("2", "f64"), WEAVE("8"), "haswell", "vunpckhpd", "vmovhp"},
    {"pairs of bytes", TURNS("2", "u8"), WEAVE("32"), "haswell", "vpunpckhbw", "vpextrb"},
    {"pairs of a long vector", TURNS("2", "f32"), WEAVE("32"), "haswell", "vunpckhps", "vextractps"},
    {"pairs of a short vector", TURNS("2", "f32"), WEAVE("4"), "haswell", "vunpckhps", "vextractps"},
    {"threes", TURNS("3", "f32"), WEAVE("8"), "haswell", "vblendps", "vextractps"},
    {"threes of f64", TURNS("3", "f64"), WEAVE("4"), "haswell", NULL, "vmovhp"},
    {"threes of bytes", TURNS("3", "u8"), WEAVE("32"), "haswell", "vpshufb", "vpextrb"},
    {"threes of halves", TURNS("3", "i16"), WEAVE("16"), "haswell", "vpshufb", "vpextrw"},
    {"threes on wide registers", TURNS("3", "f32"), WEAVE("16"), "znver4", "vpermt2ps", "vextractps"},
    {"threes of bytes where bytes stay in blocks", TURNS("3", "u8"), WEAVE("64"), "skylake-avx512", "vpshufb",
     "vpextrb"},
    {"fours", TURNS("4", "f32"), WEAVE("8"), "haswell", "vunpckhps", "vextractps"},
    {"fours of bytes", TURNS("4", "u8"), WEAVE("32"), "haswell", "vpunpck", "vpextrb"},
    {"fours on wide registers", TURNS("4", "i32"), WEAVE("16"), "znver4", "vpermt2d", "vpextrd"},
    {"turned round", "input A: f32[64,3]\nC[i<64, c<3] = A[i,2-c]", WEAVE("16"), "haswell", "vblendps", "vextractps"},
    {"each element twice", "input A: f32[64]\nC[i<128] = A[i//2] * 2.0",
     "split(C, i, 2); reorder(C, i.inner, i.outer); unroll(C, i.inner); vectorize(C, i.outer)", "haswell", "vshufps",
     "vextractps"},
    {"past the caches", TURNS("2", "f32"), WEAVE("32") "; pragma(C, i.outer, stream_stores, 1)", "haswell", "vmovntps",
     "vextractps"},
    {"pairs that one of is lacking", "input A: f32[64], B: f32[64]\nC[i<128] = select(i%2 == 0, A[i//2], B[i//2])",
     "split(C, i, 4); reorder(C, i.inner, i.outer); unroll(C, i.inner); vectorize(C, i.outer)", "haswell", "vunpckhps",
     "vextractps"},
    {"no power of two", "input A: f32[24], B: f32[24]\nC[i<24, c<2] = select(c == 0, A[i], B[i])",
     "reorder(C, c, i); unroll(C, c); vectorize(C, i)", "haswell", NULL, NULL},
};

/* Bytes and halves that are widened, computed with, and cut again. */
#define OF_BYTES(value) "input X: u8[128], Y: u8[128]\nC[i<128] = " value
#define WHOLE "split(C, i, 32); vectorize(C, i.inner)"
#define OF_NINE(times)                                                                                                \
  "input X: u8[136]\nC[i<128] = u8((u32(X[i]) + u32(X[i+1]) + u32(X[i+2]) + u32(X[i+3]) + u32(X[i+4]) + u32(X[i+5]) " \
  "+ "                                                                                                                \
  "u32(X[i+6]) + u32(X[i+7]) + u32(X[i+8])) * " times " // 256)"

static const stride_row narrow_rows[] = {
    {"a weighted sum", OF_BYTES("u8((u32(X[i])*77 + u32(Y[i])*150) // 256)"), WHOLE, "haswell", "vpmullw", "vpmulld"},
    {"of signed numbers", OF_BYTES("u8((i32(X[i])*77 + i32(Y[i])*150) // 256)"), WHOLE, "haswell", "vpmullw",
     "vpmulld"},
    {"a difference", OF_BYTES("u8(max(i32(X[i]) - i32(Y[i])*3, 0) // 2)"), WHOLE, "haswell", "vpmaxsw", "vpmaxsd"},
    {"a difference below 0", OF_BYTES("i16((i32(X[i]) - i32(Y[i])) // 3)"), WHOLE, "haswell", NULL, "vpmuldq"},
    {"a mean", OF_BYTES("u8((u32(X[i]) + u32(Y[i]) + u32(1)) // 2)"), WHOLE, "haswell", NULL, "vpaddd"},
    {"a choice", OF_BYTES("u8(select(X[i] > Y[i], u32(X[i])*3 // 4, u32(Y[i])))"), WHOLE, "haswell", NULL, "vpmulld"},
    {"unsigned numbers that would begin anew below 0", OF_BYTES("u8((u32(X[i]) - u32(Y[i])) // 2)"), WHOLE, "haswell",
     "vpsubd", NULL},
    {"a sum that needs 17 bits", OF_BYTES("u8((u32(X[i])*130 + u32(Y[i])*130) // 256)"), WHOLE, "haswell", NULL,
     "vpmullw"},
    {"two weights that make up a whole", OF_BYTES("u8((u32(X[i])*u32(Y[i]) + u32(Y[127-i])*(255 - u32(Y[i]))) // 255)"),
     WHOLE, "haswell", "vpmulhuw", "vpmulld"},
    {"a weight that is what it weighs, too", OF_BYTES("u8((u32(X[i])*u32(X[i]) + u32(Y[i])*(255 - u32(X[i]))) // 255)"),
     WHOLE, "haswell", "vpmulhuw", "vpmulld"},
    {"parts that need 17 bits of a whole that does not", OF_BYTES("i16(i32(X[i])*200 - i32(Y[i]) - i32(X[i])*100)"),
     WHOLE, "haswell", "vpmullw", "vpmulld"},
    {"what is greatest between its ends", OF_BYTES("u8((u32(X[i])*(255 - u32(X[i]))*5 + u32(Y[i])) // 512)"), WHOLE,
     "haswell", "vpmovzxbd", NULL},
    {"nine bytes", OF_NINE("1"), WHOLE, "haswell", "vpmovzxbw", "vpmovzxbd"},
    {"nine that need 17 bits", OF_NINE("29"), WHOLE, "haswell", "vpmovzxbd", NULL},
    {"a sum that is shifted", OF_BYTES("u8((u32(X[i])*77 + u32(Y[i])*150) >> u32(8))"), WHOLE, "haswell", "vpmullw",
     "vpmulld"},
    {"a difference that is shifted", OF_BYTES("i16((i32(X[i]) - (i32(Y[i]) << 1)) >> 2)"), WHOLE, "haswell", "vpsraw",
     "vpsrad"},
    {"a shift that needs 17 bits", OF_BYTES("u8(((u32(X[i]) << u32(9)) + u32(Y[i])*101) // 512)"), WHOLE, "haswell",
     "vpmovzxbd", NULL},
    {"bits of a sum", OF_BYTES("u8((u32(X[i])*3 + u32(Y[i])) & 255)"), WHOLE, "haswell", NULL, "vpmovzxbd"},
    {"a distance", OF_BYTES("u8(abs(i32(X[i]) - i32(Y[i]))*77 // 100)"), WHOLE, "haswell", "vpmullw", "vpmulld"},
    {"sums of sums that are kept",
     OF_BYTES("u16(X[i])*6 + u16(Y[i])*4\nD[i<128] = u8((u32(C[i])*16 + u32(C[127-i])*9 + 128) // 256)"),
     "split(C, i, 32); vectorize(C, i.inner); split(D, i, 32); vectorize(D, i.inner)", "haswell", "vpmullw", "vpmulld"},
    {"sums of sums that need 17 bits",
     OF_BYTES("u16(X[i])*6 + u16(Y[i])*4\nD[i<128] = u8((u32(C[i])*16 + u32(C[127-i])*11 + 129) // 512)"),
     "split(C, i, 32); vectorize(C, i.inner); split(D, i, 32); vectorize(D, i.inner)", "haswell", "vpmovzxwd", NULL},
    {"sums of what was stored in two ways",
     OF_BYTES(
         "select(i < 64, u16(X[i])*200, u16(Y[i]))\nD[i<128] = u8((u32(C[i])*16 + u32(C[127-i])*11 + 129) // 512)"),
     "split(C, i, 32); pragma(C, i.outer, loop_partition_hint, 1); vectorize(C, i.inner); split(D, i, 32); "
     "vectorize(D, i.inner)",
     "haswell", "vpmovzxwd", NULL},
    {"what is 0 where nothing was kept",
     OF_BYTES("60000 + u16(X[i]) + u16(Y[i])\nP[i<136] = select(i >= 4 && i < 132, C[i-4], 0)\n"
              "D[i<136] = u8((u32(P[i]) - u32(59000)) // 9)"),
     "split(C, i, 32); vectorize(C, i.inner); compute_inline(P); split(D, i, 32, tail=mask); vectorize(D, i.inner)",
     "haswell", NULL, NULL},
    {"the low half of a number that is wider", "input X: i32[128], Y: i32[128]\nC[i<128] = u8((X[i] + Y[i]) // 2)",
     WHOLE, "haswell", "vpaddd", NULL},
};

static void by_shuffles(void **state) {
  const stride_row *r = *state;
  char *assembly = kit_assembly(r->program, r->schedule, r->cpu);
  if (r->has) check_has(assembly, r->has);
  if (r->lacks && strstr(assembly, r->lacks)) fail_msg("%s in\n%s", r->lacks, assembly);
  free(assembly);
}

static void same_values(void **state) {
  const stride_row *r = *state;
  kit_same_values(r->program, r->schedule);
}

int test_stride(void) {
  return CHECK_TABLE("every second, third and fourth element", stride_rows, by_shuffles) +
         CHECK_TABLE("their values", stride_rows, same_values) +
         CHECK_TABLE("bytes in 16 bits", narrow_rows, by_shuffles) +
         CHECK_TABLE("what they are", narrow_rows, same_values);
}
