/* generic.h: how generic schedules are made, shared by their files: a draft (a schedule in the making and the machine
 * it is for), what the stages read with what strides, changes of loops by axis, the families of operators. */
#ifndef TENON_SCHEDULE_GENERIC_H
#define TENON_SCHEDULE_GENERIC_H

#include "schedule/analysis.h"
#include "schedule/edit.h"

enum {
  GENERIC_MAX_READS = 64,  /* of one stage; one with more is scheduled as injective without vectors */
  GENERIC_MAX_AXES = 24,   /* data and reduction axes of one stage */
  GENERIC_MAX_STAGES = 64, /* of one group */
  GENERIC_REGISTERS = 4
};

/* One read of a stage, inlined stages looked through. */
typedef struct generic_read {
  const tn_tensor *tensor;
  const tir_expr *expr;
  bool is_known[GENERIC_MAX_AXES];  /* by axis of the op (data, then reduction): its index is linear in it ... */
  int64_t stride[GENERIC_MAX_AXES]; /* ... and one more of it means so many elements more */
  bool is_window;                   /* some index adds a data axis and a reduction axis */
  bool overlaps; /* ... and may be the same for several pairs of them: h*3+d for d < 4, not for d < 3 */
  int64_t block[GENERIC_MAX_AXES];  /* an index has axis // block besides; 0: none does */
  int64_t period[GENERIC_MAX_AXES]; /* an index has axis % period; 0: none does */
  int dim[GENERIC_MAX_AXES];        /* the only dimension whose index has the axis; -1: none or several */
  int plain[TN_MAX_RANK];           /* by dimension: the axis that is the index, as it is; -1: another index */
} generic_read;

/* Fixed sizes, on the stack: about 50 KB, of which what lies behind reads[n - 1] has no values. */
typedef struct generic_reads {
  const te_op *op;
  const tn_tensor *tensor; /* of the stage; OP may have been made anew, with others of that name */
  int n_axes, n_data;      /* all; data axes */
  int64_t extent[GENERIC_MAX_AXES];
  double ops;      /* of one point: one a cheap operation, more a costly one */
  double combined; /* that combine two results: one where there is one value, argmax's comparisons and choices */
  double taken;    /* that take a point to its result: argmax compares once (codegen/emit_first.c) */
  int n;
  generic_read reads[GENERIC_MAX_READS];
} generic_reads;

/* What generic schedules work on. ARENA lives as long as the plans that are made with it. */
typedef struct generic_draft {
  tn_schedule *s;
  tn_machine machine;
  runtime_arena *arena;
  int registers;      /* of a vector loop: how many registers long it should be; 0: GENERIC_REGISTERS */
  int together;       /* of stages with common outer loops: rows that are computed at a time; 0: 1 */
  bool columns_first; /* of their last one: blocks of columns go outside of the rows that are not common */
  bool asks_ahead;    /* ... and while rows are computed, what the next ones read is asked for */
  bool by_dots;       /* of sums along rows: a vector's lanes are dot products (generic_row_sum) */
} generic_draft;

/* ---- what stages read (generic_reads.c) -------------------------------------------------------------------------- */

/* False: the stage is none that can be analysed (an input, or too much of something). */
bool generic_read_all(const generic_draft *p, int stage, generic_reads *out);
/* The same of a scan, which reads its own states, too. */
bool generic_read_scan(const generic_draft *p, int stage, generic_reads *out);
/* The stage's expression, inlined stages in place, without selects whose condition always holds. NULL: no memory. */
const tir_expr *generic_body(const generic_draft *p, int stage);
/* Operations of an expression, reads among them: one a cheap one, more a costly one. */
double generic_ops(const tir_expr *e);
/* The stride of READ along an axis; false: it is not linear in it. */
static inline bool generic_stride(const generic_read *read, int axis, int64_t *stride) {
  *stride = read->stride[axis];
  return read->is_known[axis];
}
/* Every read goes along AXIS with stride 0 or 1, and some with 1: it can be vectorized. */
bool generic_is_contiguous(const generic_reads *r, int axis);
/* Of what all points read together: each element once for each read that there is. */
double generic_read_bytes(const generic_reads *r);
/* So long vectors along AXIS, or whole multiples of it, or whole parts, cut no read's blocks and periods; 0: any do, or none. */
int64_t generic_grain(const generic_reads *r, int axis);
/* Inside of a part of GRAIN iterations of axis AXIS, which begins with a multiple of GRAIN: how many elements READ goes on by with each.
 * False: it does not go on evenly. */
bool generic_stride_in_grain(const generic_reads *r, const generic_read *read, int axis, int64_t grain,
                             int64_t *stride);
/* The body, and what it reads, between the borders at which an index is limited or begins anew: X[y-1] of X[max(y-1, 0)]. R: as
 * generic_read_all found it. */
const tir_expr *generic_body_inside(const generic_draft *p, int stage);
bool generic_read_inside(const generic_draft *p, int stage, generic_reads *r);
/* Whether AXIS and the one before it walk through every read as one. */
bool generic_joins(const generic_reads *r, int axis);
/* The same, or a read leaves rows of AXIS out between two that it reads, whose first is at most MOST rows on: every second pixel. */
bool generic_joins_by_steps(const generic_reads *r, int axis, int64_t most);
/* The first of the last loops that are to be fused, none before LEAST: while they are shorter than WANTED and, if they are to be
 * EVEN, no multiple of it either: rows then begin where vectors may, and only the last has a rest. R's extent there: of them all
 * (family_points.c). */
int generic_first_joined(const generic_draft *p, int stage, generic_reads *r, int least, int64_t wanted, bool even);
/* How reads go along two axes, rows of few columns, that become one vector. */
typedef struct generic_folded {
  int n_along;   /* run through both as through one row */
  int n_steady;  /* run through the columns alone: the same for all rows */
  int n_spread;  /* run through the rows alone, by no more elements a row than there are columns: a pixel's opacity */
  int n_apart;   /* run through both, and leave rows between: every second pixel */
  int64_t apart; /* rows from one to the next, at most */
} generic_folded;
/* Whether each read that goes along the axes ROWS and COLUMNS is of these, and some run through both. */
bool generic_is_folded(const generic_reads *r, int rows, int columns, generic_folded *out);
/* A, B > 0. */
static inline int64_t generic_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* The least number of rows of so many COLUMNS, at least two, that are whole vectors. */
int64_t generic_rows_of_fold(int64_t columns, int64_t lanes);
/* Whether rows of what is written or read are apart, as far as a call says. */
bool generic_has_strides(const generic_draft *p, int stage, const generic_reads *r);
/* Whether indices stand in reads only: elsewhere they would have to be made from those of fused loops. */
bool generic_is_of_reads(const generic_draft *p, int stage);
/* The same but for conditions that part borders off, which blocks between these are computed without (generic_part_borders). */
bool generic_is_of_reads_inside(const generic_draft *p, int stage);
/* Whether CONDITION compares indices by their order alone: what it parts lies on one side of a border. */
bool generic_is_of_borders(const tir_expr *condition);
/* What data axes from FIRST to END, behind which the last one is, have no part in, the last one's loop outside of theirs: it is done once
 * for all of these. All 0: these are cheap operations. */
typedef struct generic_steady {
  double ops, counted; /* operations of one point, by what they take; as generic_reads counts them */
  int values;          /* that loops inside keep */
} generic_steady;
generic_steady generic_steady_of(const generic_draft *p, int stage, int first, int end);
/* Its operations. */
double generic_steady_ops(const generic_draft *p, int stage, int first, int end);
/* Operations of a point that change along the last axis, reductions behind data: what a loop over it has. */
double generic_moving_ops(const generic_draft *p, int stage, const generic_reads *r);
/* Bytes of a tensor. */
double generic_bytes(const tn_tensor *t);
/* Nanoseconds that what is read takes to come in from where all of it has room. */
double generic_memory_ns(const generic_draft *p, const generic_reads *r);
/* Nanoseconds that one thread takes for POINTS points, vectorized. */
double generic_cost_ns(const generic_draft *p, const generic_reads *r);
/* Operations of a point: what occurs several times once, and nothing of what all steps of a reduction read again, which stays in
 * registers. */
double generic_step_ops(const generic_draft *p, int stage, const generic_reads *r);
/* The same as generic_cost_ns of a reduction by columns, with these. */
double generic_column_ns(const generic_draft *p, int stage, const generic_reads *r);
static inline int generic_registers(const generic_draft *p) { return p->registers ? p->registers : GENERIC_REGISTERS; }
/* Lanes of a full vector of the stage's dtype, the first of several. */
int64_t generic_lanes(const generic_draft *p, int stage);
/* The same of the widest of several. */
int64_t generic_widest_lanes(const generic_draft *p, int stage);

/* ---- loops by axis (generic_loops.c). Axes are indices in the stage's axis table. False: refused or no memory ---- */

bool generic_split(generic_draft *p, int stage, int axis, int64_t factor, int *outer, int *inner);
/* The same with a TAIL for where FACTOR does not divide. */
bool generic_split_as(generic_draft *p, int stage, int axis, int64_t factor, tn_tail tail, int *outer, int *inner);
/* AXES are adjacent and in order. *FUSED: the axis itself where N is 1. */
bool generic_fuse(generic_draft *p, int stage, int n, const int *axes, int *fused);
/* ORDER: every loop, outermost first. */
bool generic_order(generic_draft *p, int stage, int n, const int *order);
/* True, and nothing done, for a loop of one iteration. */
bool generic_annotate(generic_draft *p, int stage, int axis, schedule_annotation annotation);
/* At leaf ITER of STAGE, what it reads of TENSOR in the iteration OFFSET later of LEAF of OF, a loop around it. Leaves are positions;
 * negative ones are refused. */
bool generic_prefetch(generic_draft *p, int stage, int iter, const tn_tensor *tensor, int64_t offset, int of, int leaf);
/* TENSOR is computed at ROOT's loop over AXIS, wherever that stands by now. */
bool generic_attach(generic_draft *p, const tn_tensor *tensor, const tn_tensor *root, int axis);
/* The loops as they are but for that of AXIS, which becomes the innermost one, a vector. */
bool generic_put_vector_last(generic_draft *p, int stage, int axis);
/* Fuses the first of N loops, which are outermost in this order, until there are enough iterations for the threads, and
 * makes that loop parallel if NS, the time of all of it, is worth it. *LOOP: the loop then outermost; -1: N is 0.
 * *N_FUSED: how many of the loops it is made of. Blocks that leave a rest are shared in a chunk for each thread: *LOOP is the one over a
 * chunk's blocks then. */
bool generic_parallel(generic_draft *p, int stage, int n, const int *axes, double ns, int *loop, int *n_fused);
/* How many of BLOCKS, the last of which was moved back, each thread takes; 0: the last one would be left without the one that it
 * overlaps, or there is one chunk only. */
int64_t generic_chunk(int64_t blocks, int threads);
/* NS of one thread, shared: OUTER iterations of other loops around blocks of BLOCK rows, of which there are ROWS. IS_OUTPUT: so is the stage
 * with these loops. INFINITY: the blocks overlap and cannot be shared. */
double generic_shared_ns(const tn_machine *m, double ns, double outer, int64_t rows, int64_t block, bool is_output);
/* How long vectors of an axis should be: lanes times a few, dividing the extent if that is possible without shorter
 * ones; the extent itself when it is short. */
int64_t generic_vector_length(int64_t extent, int64_t lanes, int registers);
/* Splits the axis for vectors where it is longer. *OUTER: -1: nothing was split. */
bool generic_split_vector(generic_draft *p, int stage, int axis, int registers, int *outer, int *inner);
/* Vectors of results that a loop keeps in registers, beside what it reads. */
static inline int generic_most_columns(const tn_machine *m) { return m->vector_registers * 3 / 4; }
/* Columns that lie side by side, their results in registers. */
typedef struct generic_columns {
  int block;  /* the loop over blocks of vectors; -1: there is one block */
  int vector; /* the unrolled loop over a block's vectors; -1: a block is one long vector */
  int lane;
} generic_columns;
/* How many of EXTENT columns a block has, at most so many REGISTERS. *BY_LANES: it is cut into vectors with a rest; else it is one
 * long vector. */
int64_t generic_column_block(int64_t extent, int64_t lanes, int registers, bool *by_lanes);
/* Splits the axis into blocks of columns as generic_column_block says. */
bool generic_split_columns(generic_draft *p, int stage, int axis, int64_t block, bool by_lanes, generic_columns *out);
/* The same inside of a block: vectors, whose loop is unrolled, and lanes. *VECTOR: -1: there is one vector. */
bool generic_split_lanes(generic_draft *p, int stage, int axis, int *vector, int *lane);
/* The loops of a stage that has a block's columns, AXIS, innermost. BY_LANES: they are cut into vectors. */
bool generic_arrange_columns(generic_draft *p, int stage, int axis, bool by_lanes);
/* Whether stores past the caches can be chosen: the stage is an output, the group's BYTES, read and written, are more than
 * the second cache holds, and rows of ROW elements begin where vectors may. */
bool generic_can_stream(const generic_draft *p, int stage, int64_t row, double bytes);
/* Elements of the last dimension of the stage's result. */
int64_t generic_row(const generic_draft *p, int stage);
/* Whether what the stage reads, or what of it counts, changes at the borders of an array as AXIS goes on. */
bool generic_has_borders(const generic_draft *p, int stage, int axis);
/* The loop over AXIS of a stage is to be parted there. True, and nothing done, where AXIS is negative. */
bool generic_part_borders(generic_draft *p, int stage, int axis);
/* Asks for them, at the stage's outermost loop. */
bool generic_stream(generic_draft *p, int stage);
/* NS is the time of one thread for all of it. */
bool generic_is_worth_threads_on(const tn_machine *m, double ns);
static inline bool generic_is_worth_threads(const generic_draft *p, double ns) {
  return generic_is_worth_threads_on(&p->machine, ns);
}

/* ---- layouts (generic_maps.c) ------------------------------------------------------------------------------------ */

enum { GENERIC_MAP = 256 /* characters of a map */ };
/* "[d0, d1] -> [" */
void generic_map_begin(runtime_str *map, int ndim);
/* BEFORE and "d0". */
void generic_map_dimension(runtime_str *map, const char *before, int dim);
/* Panels of BY elements of dimension DIM, "[d0, d1] -> [d1//32, d0, d1%32]"; where dimension GROUPED goes in groups of GROUP,
 * "[d0, d1] -> [d1//32, d0//4, d1%32, d0%4]". GROUPED -1: none does. False: no memory, or N characters are too few. */
bool generic_panel_map(const generic_draft *p, int ndim, int dim, int64_t by, int grouped, int64_t group, char *out,
                       size_t n);
/* What MADE, a schedule of the program without axes of one element that tensors end in, is for the program itself, whose schedule without
 * steps WHOLE is (generic_ones.c). NULL: some primitive refuses a step, or no memory. */
TN_GIVE tn_schedule *generic_with_ones(const tn_schedule *whole, const tn_schedule *made);
/* The map of a copy whose dimension DIM is in groups of GROUP, a group side by side: "[d0, d1] -> [d0//4, d1, d0%4]". OUT has room for N
 * bytes. False: the map does not fit. */
bool generic_group_map(const generic_draft *p, int ndim, int dim, int64_t group, char *out, size_t n);
/* The stage's dimension DIM is stored behind the others. */
bool generic_store_last(generic_draft *p, int stage, int dim);
/* The same; where BY elements cut it evenly, in panels, each of which is read from its begin to its end. */
bool generic_store_panels(generic_draft *p, int stage, int dim, int64_t by);

/* ---- groups that read the same (generic_siblings.c) -------------------------------------------------------------- */

/* Outputs whose outermost loops are alike run together where that saves reading from far away. All groups are scheduled. */
void generic_join_siblings(generic_draft *p);

/* ---- families: each schedules a group of stages ------------------------------------------------------------------ */

/* How a root's axes are made of its anchor's: an anchor's axis is an axis of the root, or axis // BY, or axis % BY (a
 * shape that was changed, phases of rows that stand beside each other). */
typedef struct generic_unfold {
  bool is_some;             /* else all axes are the same ones */
  int8_t axis[TN_MAX_RANK]; /* by axis of the anchor: the root's */
  int64_t by[TN_MAX_RANK];  /* 0: as it is; > 0: divided by it; < 0: the rest of that division */
} generic_unfold;

/* Stages that are computed together: the last, ROOT, stays at root, the others inside its loops. */
typedef struct generic_group {
  const tn_tensor *root;
  int n;
  const tn_tensor *members[GENERIC_MAX_STAGES]; /* consumers first, without the root */
  bool is_common[TN_MAX_RANK];                  /* data axes of the root that each member has too, point by point */
  int8_t maps[GENERIC_MAX_STAGES][TN_MAX_RANK]; /* by member and axis of the root: the member's axis; -1: none */
  /* Each element of the members' axis BLOCK_MAPS goes along with BLOCK elements of the root's axis BLOCKED (the groups of a group
   * normalization's channels). 0: there is no such axis. Where it is common, its loop goes over blocks. */
  int64_t block;
  int blocked;
  int8_t block_maps[GENERIC_MAX_STAGES];
  const tn_tensor *anchor;  /* a reduction that reuses data (dense, convolution), or NULL */
  generic_unfold unfold;    /* of the anchor, where the root is no anchor itself */
  const tn_tensor *padding; /* what only the anchor reads, computed inside when that is cheap, or NULL */
  bool is_chain;            /* stencils: the root's last two axes are rows and columns, and all reads go along them */
  int n_windows; /* of a chain: what windows read, computed for a tile of the root at a time; the members then are */
  const tn_tensor *windows[GENERIC_MAX_STAGES]; /* read point by point. Consumers first */
  double ns;                                    /* of one thread, without the windows */
} generic_group;

/* ---- which stages are computed together (generic_groups.c) ------------------------------------------------------- */

typedef struct generic_taken {
  RUNTIME_VEC(const tn_tensor *) tensors; /* that stand in a group */
} generic_taken;

bool generic_is_taken(const generic_taken *t, const tn_tensor *tensor);
bool generic_take_group(generic_taken *t, const generic_group *g);
/* Whether the stage has loops: a compute that is not inlined. */
bool generic_is_computed(const schedule_stage *st);
/* Nothing was done to the stage. */
bool generic_is_untouched(const generic_draft *p, int stage);
typedef bool (*generic_attempt_fn)(generic_draft *draft, const generic_group *g, const void *data);
/* FN on a copy of the draft's schedule, which is taken over when all goes well, in silence. WHY (NULL: nobody asks) gets the message of
 * the last refusal, of at most N bytes. */
bool generic_attempt(generic_draft *p, const generic_group *g, generic_attempt_fn fn, const void *data, char *why,
                     size_t n);
/* A step of a scan that is a reduction goes by tiles in registers; IS_SHARED: threads share the scan itself. Copies that it needs are
 * TAKEN. False: it stays as it is (generic_steps.c). */
bool generic_tile_step(generic_draft *p, generic_taken *taken, int stage, bool is_shared);
/* Threads share an axis of the scan around its time, where its elements never depend on others along it, and NS, of one thread, are
 * worth them. */
bool generic_share_scan(generic_draft *p, int stage, double ns);
/* Schedules scans and their steps; they are taken (generic_scans.c). */
bool generic_take_scans(generic_draft *p, generic_taken *t);
/* T NULL: but for what a chain of stencils may want to keep; else all that no stage of T reads. */
void generic_inline_stages(generic_draft *p, const generic_taken *t);
/* In a chain of stencils: how many short axes TENSOR has behind its columns (the positions of a window, channels), which
 * it is stored in front of, so that vectors go along columns. 0 for inputs, outputs, and where a reader does not go along. But 1
 * where that is the last stage of a chain, and vectors go along columns and channels at once (generic_channels). */
int generic_trailing(const generic_draft *p, const tn_tensor *tensor);
/* Channels behind the columns of a stage, fewer than a vector has lanes, that it reads as it writes them, so that both axes are one
 * of vectors; 0: there are none. Nothing but where it reads depends on either. */
int64_t generic_channels(const generic_draft *p, int stage);
/* Taps along rows whose columns, shorter than a vector, lie without gaps one row after the other (an image's colours behind
 * its columns): both loops are one, of vectors. The stage is a group of its own. */
bool generic_is_interleaved(const generic_draft *p, int stage);
/* How often each element of STAGE is read. */
double generic_reads_of_element(const generic_draft *p, int stage);
/* Operations more for each element of STAGE when it is inlined; INFINITY: it cannot be (strip_facts.c). */
double generic_computed_again(const generic_draft *p, int stage);
/* The group that ends in STAGE. T: NULL: there are no other groups. */
void generic_form_group(const generic_draft *p, int stage, const generic_taken *t, generic_group *g);
/* The stages that STAGE is made from through windows and point by point. False: there is no such chain. */
bool generic_form_strip(const generic_draft *p, int stage, const generic_taken *t, generic_group *g);
/* How sums of windows are taken apart: rows or columns are added up last; long windows fall into parts of neighbours. */
typedef struct generic_sharing {
  bool rows_last, in_parts;
} generic_sharing;

/* Whether a stage of the group sums up windows that may be taken apart, as neighbours share partial sums: one axis at a time, or into parts of
 * a long one (generic_windows.c). */
bool generic_has_windows(const generic_draft *p, const generic_group *g);
/* Takes them apart, on the draft; *CHAIN is the group then. False: all were refused, none has parts, or it is no chain of stencils. */
bool generic_share_windows(generic_draft *p, const generic_group *g, generic_sharing how, generic_group *chain);

/* Positions of a tensor's stage now. */
static inline int generic_stage(const generic_draft *p, const tn_tensor *tensor) {
  return schedule_stage_of_tensor(p->s, tensor);
}
/* For each data axis of a group's root, the axis of a member that goes along with it; NULL: it is no member. */
const int8_t *generic_map_of(const generic_group *g, const tn_tensor *member);

/* Iterations of the common loop over the root's axis. */
static inline int64_t generic_common_extent(const generic_group *g, int axis) {
  bool is_blocked = g->block > 0 && axis == g->blocked;
  return is_blocked ? g->root->shape[axis] / g->block : g->root->shape[axis];
}
/* The group with the axis that it has by blocks among the common ones. */
static inline generic_group generic_in_blocks(const generic_group *g) {
  generic_group with = *g;
  with.is_common[g->blocked] = true;
  for (int i = 0; i < g->n; i++) with.maps[i][g->blocked] = g->block_maps[i];
  return with;
}

/* The group's only stage, without a reduction, or an interleaved filter (family_points.c). */
bool generic_injective(generic_draft *p, const generic_group *g);
/* Arranges a stage without a reduction that is computed inside others' loops: VECTOR is its axis to vectorize. */
bool generic_inner_injective(generic_draft *p, int stage);
/* Stages with common outer loops: softmax, normalization (family_rows.c). */
bool generic_rows(generic_draft *p, const generic_group *g);
/* Vectors go along the root's last axis, which all stages have and none reduces along. */
bool generic_is_by_columns(const generic_draft *p, const generic_group *g);
/* Cuts TENSOR's longest reduction loop into PARTS; the partial results, whose first axis counts them, become *PARTIAL
 * (family_reduce.c). */
bool generic_cut_for_threads(generic_draft *p, const tn_tensor *tensor, int64_t parts, const tn_tensor **partial);

/* ---- dot products (dots.c) --------------------------------------------------------------------------------------- */

/* A combination of dtypes that processors have an instruction for: the sum of GROUP products in each lane. */
typedef struct generic_dot {
  tn_dtype left, right, sum;
  const char *intrin[3]; /* of 16 lanes, of 8, of 4 */
  int group;
  bool is_signed; /* bytes that have to be shifted first (tir/pass_signed_dots.c) */
} generic_dot;

/* NULL: there is none. */
const generic_dot *generic_find_dot(tn_dtype left, tn_dtype right, tn_dtype sum);
/* Of the machine's widest vectors; 0: it has none. */
int generic_dot_lanes(const tn_machine *m, const generic_dot *dot);
/* Two instructions stand for it, of the halves of both operands. */
bool generic_dot_has_halves(const tn_machine *m, const generic_dot *dot);
/* The intrinsic of so many LANES: 16, 8 or 4. */
const char *generic_dot_intrin(const generic_dot *dot, int64_t lanes);

/* ---- reductions along rows (row_sums.c) -------------------------------------------------------------------------- */

/* The reduction loop along which STAGE's rows are read, an axis of its op. -1: none. */
int generic_row_axis(const generic_draft *p, int stage);
/* A reduction along rows that is done in lanes of vectors. */
typedef struct generic_row_sum {
  double rows;    /* results, and steps of other reduction loops for each */
  int64_t extent; /* steps of a row */
  int64_t next;   /* steps of the next reduction loop, which may go side by side; 1: there is none */
  int64_t lanes;
  int values; /* of a result: argmax has two */
  double ops; /* that a step waits for */
  /* Rows of neighbouring results lie one behind the other, and a step of the other reduction loops goes over all of them: each
   * element of these rows becomes a sum of its own. JOINS: all rows are one then. */
  bool is_wide, joins;
  const generic_dot *dot; /* of products that an instruction sums up in groups; NULL: they are none */
  int64_t dot_lanes;      /* of a vector of such sums; the last of a row may go beyond it */
} generic_row_sum;
/* False: TENSOR is reduced in another way, or not at all. */
bool generic_row_sum_of(const generic_draft *d, const tn_tensor *tensor, generic_row_sum *out);
/* How many vectors of dot products, REGISTERS at most, divide those of a row. */
int64_t generic_dot_vectors(const generic_row_sum *sum, int registers);
/* Nanoseconds of a row sum's dot products, with so many registers a vector, as far as they divide a row, and rows at a time. */
double generic_dots_ns(const tn_machine *m, const generic_row_sum *sum, int registers, int together);
/* TENSOR's sums of elements, WIDE as above, in a stage of their own: *SUMS; TENSOR adds them up. */
bool generic_part_wide(generic_draft *p, const tn_tensor *tensor, const generic_row_sum *wide, const tn_tensor **sums);
/* A reduction's stages after it was parted for vectors: consumers first. */
typedef struct generic_parts {
  int n;
  const tn_tensor *tensors[8];
  int64_t folded[8]; /* of sums of several rows in one vector: lanes of each row; 0: they are of one row */
} generic_parts;
/* Every WIDTH-th step along a reduction axis of TENSOR's stage, whose data loops are untouched, becomes a partial sum: the last
 * data axis of a new stage, whose tensor is returned; NULL: refused. The loop over what is left of them runs in full blocks, then over
 * the rest. */
const tn_tensor *generic_part_steps(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width);
/* The same by dot products of groups: WIDTH lanes are the last data axis of the new stage, the steps of a group its innermost loop. */
const tn_tensor *generic_part_groups(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width, int group);
/* Adds such sums, in a vector of WIDTH, to OUT. */
bool generic_part_once(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width, generic_parts *out);
/* Parts the reduction of TENSOR, whose stage is untouched, into a vector's lanes and their combination. OUT's N 0: it stays whole.
 * CAN_BE_WIDE: sums of elements may stand in front (generic_row_sum). FOLDS: lanes of rows that go together, the last data axis, are halved
 * by turns, those of several rows in one vector. */
bool generic_part_lanes(generic_draft *p, const tn_tensor *tensor, bool can_be_wide, bool folds, generic_parts *out);
/* The loops of such a stage, whose last data axes are rows and WIDTH lanes of each. */
bool generic_put_folded(generic_draft *p, int stage, int64_t width);
/* Nanoseconds that each sum waits for the one before it, with so many registers a vector and rows at a time. */
double generic_row_sum_waits(const tn_machine *m, const generic_row_sum *sum, int registers, int together);
/* How long the rows are that TENSOR's reduction goes along in lanes; 0: it does not. */
int64_t generic_rows_in_lanes(const generic_draft *d, const tn_tensor *tensor);
/* Nanoseconds of TENSOR's reduction along rows that are too short for lanes, an element at a time; 0: it is none. */
double generic_rows_alone(const generic_draft *d, const tn_tensor *tensor);
/* By what factor rows take longer for waits between sums, with so many registers of LANES a vector and rows at a time. A result of
 * several VALUES (argmax) is compared and then chosen: one waits for the other. */
double generic_rows_waits(const tn_machine *m, int64_t lanes, int vectors, int together, int values);
/* Nanoseconds at the ends of ROWS, where the sums of a vector are summed up one after the other, by OPS each time. */
double generic_rows_ends(const tn_machine *m, double rows, int vectors, int together, int values, double ops);
/* Nanoseconds that wide rows take more: their sums are loaded and stored for some steps at a time, and added up at the end. */
double generic_wide_ends(const tn_machine *m, const tn_tensor *results, const generic_row_sum *sum);
/* Nanoseconds that rows which go together lose where BYTES come from beyond the second cache, which guesses what
 * follows in one row better than in some. */
double generic_rows_streams(const tn_machine *m, double bytes, int together);
/* Whether the family `tile` can take the stage (family_tile.c); *IS_WINDOW, *IS_DEPTHWISE: what it is. */
bool generic_is_tileable(const generic_draft *p, int stage, bool *is_window, bool *is_depthwise);

/* Whether it would have to be packed because vectors would be read with a stride. */
bool generic_is_against_the_grain(const generic_draft *p, int stage);

#endif
