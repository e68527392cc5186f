/* Plans given as JSON: each makes the schedule that its fields say, whose text is golden, or is refused where its values do not go together. */
#include "schedule/plan.h"
#include "tests/schedule/tests.h"

#define BATCH "B[n<4, i<512, j<512] = A[n,j,i]"

#define VARIANCE(columns) \
  "M[j<" columns "] = sum[i<500](X[i,j]) / 500.0\nV[j<" columns "] = sum[i<500]((X[i,j] - M[j]) * (X[i,j] - M[j]))"

typedef struct said_case {
  const char *name, *program, *plans; /* plans: as JSON, one for each group */
} said_case;

static const said_case said[] = {
    {"move", BATCH,
     "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":8,\"block_columns\":2,\"block_rows\":4,\"threads\":"
     "1,\"stream\":0}]"},
    {"moved_and_asked_for", BATCH,
     "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":8,\"block_columns\":2,\"block_rows\":4,\"threads\":"
     "1,\"stream\":0,\"ahead\":1}]"},
    {"moved_down_all_rows", BATCH,
     "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":16,\"block_columns\":0,\"block_rows\":1,"
     "\"threads\":"
     "0,\"stream\":1,\"ahead\":0}]"},
    {"short_rows_of_few_columns", "S[i<90] = sum[k<5](X[i,k])\nY[i<90, j<5] = X[i,j] / S[i]",
     "[{\"stage\":\"Y\",\"family\":\"short\",\"vectors\":2,\"threads\":0}]"},
    {"short_rows_longer_than_a_table", "input X: u8[90,12]\nS[i<90] = max[k<12](X[i,k])\nY[i<90, j<12] = X[i,j] - S[i]",
     "[{\"stage\":\"Y\",\"family\":\"short\",\"vectors\":1,\"threads\":0}]"},
    {"short_rows",
     "M[i<90] = max[k<9](A[i,k])\nE[i<90, j<9] = exp(A[i,j] - M[i])\nS[i<90] = sum[k<9](E[i,k])\n"
     "Y[i<90, j<9] = E[i,j] / S[i]",
     "[{\"stage\":\"Y\",\"family\":\"short\",\"vectors\":1,\"threads\":0}]"},
    {"columns_longer_than_a_stack",
     "input X: f32[20,16384]\nA[j<16384] = sum[k<20](X[k,j])\nY[i<20, j<16384] = X[i,j] - A[j]",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":8,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0}]"},
    {"columns_that_leave_a_rest",
     "input X: f32[20,9000]\nA[j<9000] = sum[k<20](X[k,j])\nY[i<20, j<9000] = X[i,j] - A[j]",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0}]"},
    {"patches_of_a_row", "input X: f32[4,20,60]\nY[c<4, y<4, x<12] = max[r<5, s<5](X[c,5*y+r,5*x+s])",
     "[{\"stage\":\"Y\",\"family\":\"patch\",\"vectors\":2,\"threads\":0}]"},
    {"patches_and_means", "input X: f32[400,64,128]\nY[c<400, y<8, x<16] = sum[r<8, s<8](X[c,8*y+r,8*x+s])/64",
     "[{\"stage\":\"Y\",\"family\":\"patch\",\"vectors\":4,\"threads\":1}]"},
    {"dots_in_lanes", "input X: i8[4,128], W: i8[30,128]\nY[b<4, j<30] = sum[k<128](i32(X[b,k]) * i32(W[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":3,\"rows\":4,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"dots_of_rows_side_by_side",
     "input X: bf16[5,30], W: bf16[30,96]\nY[i<5, j<96] = sum[k<30](f32(X[i,k]) * f32(W[k,j]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":5,\"rows2\":1,\"pack\":3,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"signed_dots_of_rows_side_by_side",
     "input X: i8[6,64], W: i8[64,200]\nY[i<6, j<200] = sum[k<64](i32(X[i,k]) * i32(W[k,j]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":6,\"rows2\":1,\"pack\":3,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"dots_in_lanes_of_a_turned_operand",
     "input X: u8[80,128], W: i8[128,3]\nY[i<80, j<3] = sum[k<128](i32(X[i,k]) * i32(W[k,j]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":3,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"dots_of_channels_side_by_side",
     "input X: i8[13,10,42], W: i8[6,13,3,3]\nY[o<6, y<8, x<40] = sum[c<13, r<3, s<3](i32(X[c,y+r,x+s]) * "
     "i32(W[o,c,r,s]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":6,\"rows2\":1,\"pack\":3,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"rows_by_dots", "input x: u8[256], A: i8[300,256]\nY[j<300] = sum[k<256](i32(x[k]) * i32(A[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":4,\"parts\":1,\"threads\":0,\"together\":2,\"wide\":0,"
     "\"places\":0,\"dots\":1}]"},
    {"rows_by_shorter_dots", "input x: i8[96], A: i8[300,96]\nY[j<300] = sum[k<96](i32(x[k]) * i32(A[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":1,\"parts\":1,\"threads\":0,\"together\":1,\"wide\":0,"
     "\"places\":0,\"dots\":1}]"},
    {"rows_by_dots_and_a_rest", "input x: i8[75], A: i8[300,75]\nY[j<300] = sum[k<75](i32(x[k]) * i32(A[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":1,\"parts\":1,\"threads\":0,\"together\":4,\"wide\":0,"
     "\"places\":0,\"dots\":1}]"},
    {"rows_shorter_than_dots", "input x: u8[40], A: i8[300,40]\nY[j<300] = sum[k<40](i32(x[k]) * i32(A[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":1,\"parts\":1,\"threads\":0,\"together\":4,\"wide\":0,"
     "\"places\":0,\"dots\":1}]"},
    {"dots_in_lanes_and_a_rest",
     "input X: u8[4,150], W: i8[30,150]\nY[b<4, j<30] = sum[k<150](i32(X[b,k]) * i32(W[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":3,\"rows\":4,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"dots_of_fewer_columns_than_lanes",
     "input X: bf16[80,64], W: bf16[9,64]\nY[b<80, j<9] = sum[k<64](f32(X[b,k]) * f32(W[j,k]))",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":3,\"rows\":4,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"rows_by_dots_and_more",
     "input x: bf16[64], A: bf16[300,64], b: f32[300]\nS[j<300] = sum[k<64](f32(x[k]) * f32(A[j,k]))\n"
     "Y[j<300] = max(S[j] + b[j], 0)",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":2,\"threads\":0,\"stream\":0,\"together\":4,\"columns\":0,"
     "\"ahead\":0,\"blocks\":0,\"dots\":1}]"},
    {"rows_folded_together", "Y[j<30000] = sum[k<128](A[j,k])",
     "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":2,\"parts\":1,\"threads\":1,\"together\":8,\"wide\":0,"
     "\"places\":0,\"dots\":0}]"},
    {"rows_folded_for_more", "S[j<300] = sum[k<64](A[j,k])\nY[j<300, k<64] = A[j,k] - S[j]",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":1,\"threads\":0,\"stream\":0,\"together\":8,\"columns\":0,"
     "\"ahead\":0,\"blocks\":0,\"dots\":0}]"},
    {"spread", "Y[b<50000, n<7, i<4] = sum[k<4](X[b,n,k] * M[k,i])",
     "[{\"stage\":\"Y\",\"family\":\"spread\",\"rows\":8,\"threads\":1}]"},
    {"spread_and_more",
     "S[b<50, n<19, i<3] = sum[k<3](M[b,i,k] * X[b,n,k])\nY[b<50, n<19, i<3] = max(S[b,n,i] + T[i], 0)",
     "[{\"stage\":\"Y\",\"family\":\"spread\",\"rows\":16,\"threads\":0}]"},
    {"spread_in_one_turn", "Y[i<4, j<4] = sum[k<4](A[i,k] * B[k,j])",
     "[{\"stage\":\"Y\",\"family\":\"spread\",\"rows\":4,\"threads\":0}]"},
    {"folded", "input A: f32[3,1003,5]\n(I, V)[b<3, j<5] = argmax[k<1003](A[b,k,j])",
     "[{\"stage\":\"I\",\"family\":\"fold\",\"rows\":16,\"parts\":1,\"threads\":0}]"},
    {"folded_with_a_short_vector", "S[j<37] = sum[k<1000](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":3,\"parts\":1,\"threads\":0}]"},
    {"folded_in_blocks", "S[j<37] = sum[k<1000](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":16,\"parts\":1,\"threads\":0,\"blocks\":3}]"},
    {"folded_in_one_block", "S[b<5, j<30] = sum[k<1000](A[b,k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":8,\"parts\":1,\"threads\":0,\"blocks\":1}]"},
    {"blocks_in_parts", "S[j<12] = sum[k<100000](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":8,\"parts\":4,\"threads\":1,\"blocks\":1}]"},
    {"by_value", "(I, V)[i<1003] = argmax[k<64](A[i,k])",
     "[{\"stage\":\"I\",\"family\":\"reduce\",\"vectors\":4,\"parts\":1,\"threads\":0,\"together\":4,\"wide\":0,"
     "\"places\":1}]"},
    {"by_value_on_threads", "(I, V)[b<700, i<64] = argmin[k<300](A[b,i,k])",
     "[{\"stage\":\"I\",\"family\":\"reduce\",\"vectors\":4,\"parts\":1,\"threads\":1,\"together\":1,\"wide\":0,"
     "\"places\":1}]"},
    {"folded_in_parts", "S[j<2] = sum[k<100000](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":8,\"parts\":4,\"threads\":1}]"},
    {"moved_by_points", BATCH, "[{\"stage\":\"B\",\"family\":\"points\",\"vectors\":2,\"threads\":0,\"stream\":0}]"},
    {"part_of_rows", "input A: f32[99999,4]\nC[i<99999, j<3] = A[i,j] * 2",
     "[{\"stage\":\"C\",\"family\":\"points\",\"vectors\":4,\"threads\":1,\"stream\":0}]"},
    {"past_the_caches", "C[i<8192, j<8192] = A[i,j] * 2",
     "[{\"stage\":\"C\",\"family\":\"points\",\"vectors\":4,\"threads\":1,\"stream\":1}]"},
    {"rows_without_rests", "C[i<317, j<331] = A[i,j] + B[i,j]",
     "[{\"stage\":\"C\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0}]"},
    {"rows_by_their_index", "C[i<317, j<331] = select(j < i, A[i,j], 0)",
     "[{\"stage\":\"C\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0}]"},
    {"moved_planes", "B[n<2, c<64, h<28, w<28] = A[n,h,w,c]",
     "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":16,\"block_columns\":2,\"block_rows\":2,"
     "\"threads\":"
     "0,\"stream\":0}]"},
    {"moved_pixels", "B[n<2, h<28, w<28, c<64] = A[n,c,h,w]",
     "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":16,\"block_columns\":1,\"block_rows\":2,"
     "\"threads\":"
     "0,\"stream\":0}]"},
    {"wide_rows", "S[g<50] = sum[n<100, c<6](A[n,g,c])",
     "[{\"stage\":\"S\",\"family\":\"reduce\",\"vectors\":4,\"parts\":1,\"threads\":0,\"together\":1,\"wide\":1}]"},
    {"wide_groups",
     "M[n<2, g<8] = sum[h<8, w<16, c<16](X[n,h,w,g*16+c])\nY[n<2, h<8, w<16, c<128] = X[n,h,w,c] * rsqrt(M[n,c//16])",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":1}]"},
    {"rows_asked_for",
     "M[i<4098] = max[k<256](X[i,k])\nE[i<4098, j<256] = exp(X[i,j] - M[i])\nS[i<4098] = sum[k<256](E[i,k])\n"
     "Y[i<4098, j<256] = E[i,j] / S[i]",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":2,\"threads\":0,\"stream\":0,\"together\":4,\"columns\":0,"
     "\"ahead\":1}]"},
    {"groups_of_channels_one_by_one", CHANNEL_GROUPS,
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0,"
     "\"ahead\":0,\"blocks\":1}]"},
    {"groups_of_channels_two_by_two", CHANNEL_GROUPS,
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":2,\"threads\":0,\"stream\":0,\"together\":2,\"columns\":0,"
     "\"ahead\":0,\"blocks\":1}]"},
    {"heads_that_share", "input A: f32[32,64], B: f32[8,64,100]\nC[i<32, j<100] = sum[k<64](A[i,k] * B[i//4,k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":4,\"rows2\":1,\"pack\":0,\"panels\":2,"
     "\"block\":2,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"rows_asked_for_by_a_sum",
     "M[i<4098] = max[k<256](X[i,k])\nS[i<4098] = sum[k<256](exp(X[i,k] - M[i]))\nY[i<4098, j<256] = X[i,j] - M[i] - "
     "log(S[i])",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":2,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0,"
     "\"ahead\":1}]"},
    {"halves_in_lanes", "input A: bf16[6,100], B: bf16[40,100]\nC[i<6, j<40] = sum[k<100](f32(A[i,k]) * f32(B[j,k]))",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":6,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":1}]"},
    {"steps_beside_columns", "input A: f32[5,70], B: f32[70,7]\nC[i<5, j<7] = sum[k<70](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":5,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":2,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"product_beside_norms",
     "N[i<20] = sum[k<40](A[i,k] * A[i,k])\nL[j<64] = sum[k<40](B[j,k] * B[j,k])\n"
     "C[i<20, j<64] = sum[k<40](A[i,k] * B[j,k]) * rsqrt(N[i] * L[j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":5,\"rows2\":1,\"pack\":2,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"roots_of_all_channels",
     "M[n<2, y<5, x<9] = S[n,y,x] * 0.5\nY[n<2, c<20, y<5, x<9] = X[n,c,y,x] * rsqrt(M[n,y,x] + 1)",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":2,\"threads\":0,\"stream\":0,\"columns\":2,\"fold\":0}]"},
    {"two_filters_a_channel", "Y[y<6, x<8, c<40, m<2] = sum[r<3, s<3](X[y+r,x+s,c] * W[r,s,c,m])",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":2,\"rows2\":1,\"pack\":1,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"strip_of_clamped_taps", "O[y<40, x<80] = sum[r<3, s<3](I[min(max(y+r-1, 0), 39), min(max(x+s-1, 0), 79)])",
     "[{\"stage\":\"O\",\"family\":\"strip\",\"rows\":20,\"columns\":64,\"together\":2,\"vectors\":1,\"inlined\":0,"
     "\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]"},
    {"forms_of_rows", "Y[n<40] = sum[i<20, j<20](X[n,i] * A[i,j] * X[n,j])",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":1,\"rows2\":1,\"pack\":2,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"transposed_in_planes",
     "Y[o<16, y<20, x<21] = sum[c<8,r<4,s<4 where (y+1-r)%2 == 0 && y+1 >= r && y < r+19 && (x+1-s)%2 == 0 && x+1 >= s "
     "&& "
     "x < s+19](X[c,(y+1-r)//2,(x+1-s)//2] * W[c,o,r,s])",
     "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":7,\"rows2\":1,\"pack\":2,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"steps_beside_columns_of_both", "input A: f32[70,3], B: f32[70,3]\nC[i<3, j<3] = sum[k<70](A[k,i] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":3,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":4,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"steps_side_by_side", "S[i<7] = sum[m<30, k<33](A[i,m,k+1])",
     "[{\"stage\":\"S\",\"family\":\"reduce\",\"vectors\":4,\"parts\":1,\"threads\":0,\"together\":1,\"wide\":0}]"},
    {"variance_of_columns", VARIANCE("357"),
     "[{\"stage\":\"V\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0}]"},
    {"even_blocks_of_columns", VARIANCE("144"),
     "[{\"stage\":\"V\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0}]"},
    {"rows_in_one", "M[n<6] = sum[h<7, w<7](X[n,h,w])\nY[n<6, h<7, w<7] = X[n,h,w] - M[n]",
     "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":1,\"threads\":0,\"stream\":0,\"together\":1,\"columns\":0}]"},
    {"folded_points", "Y[i<300, j<5] = X[i,j] - M[j]",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":16}]"},
    {"opacity", OPACITY("100"),
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":16}]"},
    {"opacity_of_a_part", "input A: u8[50,101,4]\nY[h<50, w<100, c<4] = A[h,w,c] & A[h,w,3]",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":16}]"},
    {"points_by_columns", "Y[i<300, j<100] = X[i,j] * rsqrt(V[j])",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":2,\"threads\":0,\"stream\":0,\"columns\":1,\"fold\":0}]"},
    {"points_of_rows_written_out", "Y[i<3000, j<43] = X[i,j] * rsqrt(V[j])",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":0}]"},
    {"parts_of_a_sum", "S = sum[k<8, l<1000000](A[k,l])",
     "[{\"stage\":\"S\",\"family\":\"reduce\",\"vectors\":4,\"parts\":2,\"threads\":1,\"together\":1}]"},
    {"rows_at_a_time", "S[j<2048] = sum[k<2048](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"reduce\",\"vectors\":4,\"parts\":2,\"threads\":1,\"together\":8}]"},
    {"strip", WINDOW("2"),
     "[{\"stage\":\"Q\",\"family\":\"strip\",\"rows\":16,\"columns\":512,\"together\":2,\"vectors\":1,\"inlined\":0,"
     "\"parts\":2,\"stream\":0,\"rolls\":0,\"windows\":0}]"},
    {"strip_rolls", WINDOW("3"),
     "[{\"stage\":\"Q\",\"family\":\"strip\",\"rows\":16,\"columns\":512,\"together\":2,\"vectors\":1,\"inlined\":0,"
     "\"parts\":2,\"stream\":0,\"rolls\":1,\"windows\":0}]"},
    {"strip_of_colours", "B[y<62, x<93, c<3] = sum[k<3](A[y,x+k,c])\nO[y<60, x<93, c<3] = sum[k<3](B[y+k,x,c]) * 0.5",
     "[{\"stage\":\"O\",\"family\":\"strip\",\"rows\":20,\"columns\":192,\"together\":2,\"vectors\":1,\"inlined\":0,"
     "\"parts\":0,\"stream\":0,\"rolls\":1,\"windows\":0}]"},
    {"strip_of_a_row", ROW_SWEEPS("500001"),
     "[{\"stage\":\"C\",\"family\":\"strip\",\"rows\":1,\"columns\":256,\"together\":1,\"vectors\":2,\"inlined\":0,"
     "\"parts\":1,\"stream\":0,\"rolls\":0,\"windows\":0}]"},
    {"strip_of_even_tiles", ROW_SWEEPS("1000"), /* three */
     "[{\"stage\":\"C\",\"family\":\"strip\",\"rows\":1,\"columns\":336,\"together\":1,\"vectors\":1,\"inlined\":0,"
     "\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]"},
    {"packed_batch", "C[b<4, i<256, j<256] = sum[k<64](A[b,i,k] * B[b,k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":6,\"rows2\":1,\"pack\":1,\"panels\":2,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":1,"
     "\"parity\":"
     "0}]"},
    {"packed_of_three", "C[i<256, j<256] = sum[k<64](A[i,k] * B[k,j] * D[k])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":6,\"rows2\":1,\"pack\":2,\"panels\":4,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":"
     "0}]"},
    {"blocks_of_a_reduction", "C[i<16, j<512] = sum[k<512](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":"
     "4,\"block\":0,\"order\":1,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":64,\"thread"
     "s\":1,\"parity\":0}]"},
    {"blocks_of_batches", "C[b<3, i<16, j<500] = sum[k<500](A[b,i,k] * B[b,k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":"
     "16,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":50,\"threa"
     "ds\":0,\"parity\":0}]"},
    {"blocks_and_a_rest", "C[i<16, j<2048] = sum[k<211](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":"
     "2,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":64,\"threa"
     "ds\":0,\"parity\":0}]"},
    {"packed_blocks", "C[i<26, j<500] = sum[k<512](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":13,\"rows2\":1,\"pack\":1,\"panels\":"
     "3,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":64,\"threa"
     "ds\":1,\"parity\":0}]"},
    {"packed_and_asked_for", "C[i<26, j<500] = sum[k<512](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":13,\"rows2\":1,\"pack\":2,\"panels\":"
     "3,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":1,\"depth\":0,\"threa"
     "ds\":1,\"parity\":0}]"},
    {"short_blocks_of_a_single_row", "C[i<1, j<500] = sum[k<600](A[i,k] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":32,\"vectors\":4,\"rows\":1,\"rows2\":1,\"pack\":0,\"panels\":"
     "16,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":4,\"threa"
     "ds\":0,\"parity\":0}]"},
    {"packed_for_both_reads", "S[h<2, i<64, j<64] = sum[d<16](P[i, h*16+d] * P[j, 32+h*16+d])",
     "[{\"stage\":\"S\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":2,\"panels\":"
     "2,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threa"
     "ds\":0,\"parity\":0}]"},
    {"blocks_of_a_filter",
     "C[h<8, w<8, f<256] = sum[r<3, s<3, c<128](A[h+r, w+s, c] * W[r,s,c,f]); D[h<8, w<8, f<256] = max(C[h,w,f] + "
     "b[f], "
     "0)",
     "[{\"stage\":\"D\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":"
     "2,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":32,\"thread"
     "s\":0,\"parity\":0}]"},
    {"few_rows_across", "C[i<3, j<100] = sum[k<50](A[k,i] * B[j,k])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":3,\"rows2\":1,\"pack\":1,\"panels\":2,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0}]"},
    {"dots_of_a_column", "input A: u8[64,20], B: i8[64,43]\nC[i<20, j<43] = sum[k<64](i32(A[k,i]) * i32(B[k,j]))",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":3,\"rows\":5,\"rows2\":1,\"pack\":2,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0}]"},
    {"dots_of_few_columns", "input A: u8[194,47], B: i8[2,47]\nC[i<194, j<2] = sum[k<47](i32(A[i,k]) * i32(B[j,k]))",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":7,\"rows\":2,\"rows2\":1,\"pack\":1,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":1,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0}]"},
    {"rows_in_panels", "C[i<20, j<64] = sum[k<50](A[k,i] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":6,\"rows2\":1,\"pack\":1,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":1}]"},
    {"vectors_along_rows", "C[i<100, j<3] = sum[k<50](A[k,i] * B[k,j])",
     "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":3,\"rows2\":1,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,"
     "\"parity\":0,\"left\":0}]"},
    {"phases", PHASES("(p+r)%2 == 0 && (q+s)%2 == 0", SIDE_BY_SIDE),
     "[{\"stage\":\"O\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":4,\"rows2\":2,\"pack\":0,\"panels\":1,"
     "\"block\":0,\"order\":1,\"inner\":0,\"dot\":0,\"padding\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":1,"
     "\"parity\":"
     "1}]"},
};

/* A plan from text makes the schedule that its fields say, whatever it costs. */
static void realizes_what_it_says(void **state) {
  const said_case *c = *state;
  fixture f = fixture_new(c->program, "");
  schedule_plan by_group[GENERIC_MAX_STAGES];
  schedule_plans *plans = schedule_plans_new(f.program, &plain_machine);
  schedule_plans_decode(plans, c->plans, by_group);
  check_ok(f.ctx);
  tn_schedule *s = schedule_plans_realize(plans, by_group);
  assert_non_null(s);
  char *text = print_form(s, TN_FORM_TEXT), file[128];
  runtime_str all = {0};
  runtime_str_addf(&all, "%s\n\n%s\n\n%s", c->program, c->plans, text);
  snprintf(file, sizeof file, "schedule/plan_%s.txt", c->name);
  check_golden(file, all.data);
  runtime_str_free(&all);
  free(text);
  tn_schedule_free(s);
  schedule_plans_free(plans);
  fixture_free(&f);
}

/* Values that do not go together, each of which can be chosen: rows of more steps than a part of the reduction has, columns first of
 * a stage whose rows are one vector each. */
static const said_case unfit[] = {
    {"more rows than a part has", "S[b<5000, j<2] = sum[k<128](A[b,k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":64,\"parts\":4,\"threads\":1}]"},
    {"a single row that is kept", ROW_SWEEPS("5001"),
     "[{\"stage\":\"C\",\"family\":\"strip\",\"rows\":1,\"columns\":256,\"together\":1,\"vectors\":2,\"inlined\":0,"
     "\"parts\":0,\"stream\":0,\"rolls\":1,\"windows\":0}]"},
    {"blocks of rows that are no whole vectors", "S[j<37] = sum[k<1000](A[k,j])",
     "[{\"stage\":\"S\",\"family\":\"fold\",\"rows\":3,\"parts\":1,\"threads\":0,\"blocks\":3}]"},
    {"by value in parts", "(I, V)[i<2] = argmax[k<1000000](A[i,k])",
     "[{\"stage\":\"I\",\"family\":\"reduce\",\"vectors\":4,\"parts\":4,\"threads\":1,\"together\":1,\"wide\":0,"
     "\"places\":1}]"},
    {"one block of columns first", "Y[i<300, j<16] = X[i,j] * rsqrt(V[j])",
     "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":1,\"threads\":0,\"stream\":0,\"columns\":1,\"fold\":0}]"},
};

static void does_not_fit(void **state) {
  const said_case *c = *state;
  fixture f = fixture_new(c->program, "");
  schedule_plan by_group[GENERIC_MAX_STAGES];
  schedule_plans *plans = schedule_plans_new(f.program, &plain_machine);
  assert_int_equal(schedule_plans_decode(plans, c->plans, by_group), TN_OK);
  assert_null(schedule_plans_realize(plans, by_group));
  schedule_plans_free(plans);
  fixture_free(&f);
}

int test_plan_texts(void) {
  return CHECK_TABLE("plans say", said, realizes_what_it_says) + CHECK_TABLE("plans do not fit", unfit, does_not_fit);
}
