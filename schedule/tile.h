/* tile.h: the family `tile`: what it knows of a group and the fields of its plans, for its files. */
#ifndef TENON_SCHEDULE_TILE_H
#define TENON_SCHEDULE_TILE_H

#include "schedule/plan.h"

/* X(NAME, "name", "what it says") */
#define TILE_FIELDS(X)                                                                                 \
  X(WIDTH, "width", "bytes of a vector")                                                               \
  X(VECTORS, "vectors", "of accumulators along the last data axis")                                    \
  X(ROWS, "rows", "of accumulators along the axis that shares what is loaded")                         \
  X(ROWS2, "rows2", "and along a second such axis")                                                    \
  X(PACK, "pack",                                                                                      \
    "the operand that all rows share: 0 read where it lies, 1 copied for a block, "                    \
    "2 copied before all, 3 for dot products put side by side in registers, step by step")             \
  X(PANELS, "panels", "tiles of columns in a block")                                                   \
  X(BLOCK, "block", "tiles of rows in a block, 0: all")                                                \
  X(ORDER, "order", "1: blocks of columns outside of all other loops")                                 \
  X(INNER, "inner", "inside a block: 0 columns go by a tile of rows, 1 rows by one of columns")        \
  X(DOT, "dot", "1: by the dot product instruction")                                                   \
  X(LANES, "lanes",                                                                                    \
    "1: vectors go along the reduction, and their lanes are summed behind it; "                        \
    "2 and more: so many steps of it lie beside each of a few columns")                                \
  X(PREFETCH, "prefetch", "1: each tile asks for what the next columns read of the shared operand")    \
  X(DEPTH, "depth", "steps of the reduction in a block, whose sums are added to the result; 0: all")   \
  X(THREADS, "threads", "1: blocks are shared among threads")                                          \
  X(PADDING, "padding", "1: zeros around an input are computed for a block, 0: before all")            \
  X(PARITY, "parity", "1: steps that a condition on parity leaves out are not in the code, 0: tested") \
  X(LEFT, "left",                                                                                      \
    "1: the operand that changes from row to row is copied before all, a tile's rows side by side; "   \
    "of a window of halves, and of halves whose sums are in lanes, as floats, as they lie")

enum tile_field {
#define X(name, text, what) TILE_##name,
  TILE_FIELDS(X)
#undef X
      TILE_FIELD_COUNT
};

/* Of PACK. */
enum { TILE_PACK_WOVEN = 3 };

/* What family_tile.c finds out about a group, for both files. In the draft's arena. */
/* Steps of a filter that are written out. */
enum { TILE_MAX_UNROLLED = 25, TILE_MAX_PARITIES = 3 };

/* `where (DATA + REDUCED) % MODULUS == c`: of the steps along REDUCED one in so many counts for a point of DATA, which is
 * short, such as in transposed convolutions with a stride. */
typedef struct tile_parity {
  int data, reduced;
  int64_t modulus;
} tile_parity;

/* How many elements an operand has for loops of some lengths: a product, with a factor for each group of axes that move it
 * along one dimension. Those of a group, which overlap as a window's do, stand in axes[first[g] .. first[g + 1]). */
typedef struct tile_walk {
  uint32_t moving; /* by axis: whether one iteration more reads something else */
  int n;           /* groups */
  int8_t axes[GENERIC_MAX_AXES], first[GENERIC_MAX_AXES + 1];
  int8_t steps[GENERIC_MAX_AXES];  /* as axes: by how many of the group's shortest steps each moves it */
  int64_t block[GENERIC_MAX_AXES]; /* by group: iterations of its first axis that read the same; 0: 1 */
  double bytes, all;               /* of an element; elements of the tensor */
} tile_walk;

typedef struct tile_facts {
  tn_machine machine;
  generic_reads reads; /* of the reduction; of one point of each parity: steps that count */
  int v, u, u2;        /* data axes: of vectors, of rows, of more rows; -1: none */
  bool is_across;      /* vectors do not go along the last data axis, which is too short for one */
  int64_t turn;        /* lanes come in turns of so many (tile_weave_lanes); 0: they do not */
  int far;             /* the read that goes along v with a stride and can be packed, or has to (apart 0); -1: none */
  int shared;          /* the operand that all rows share; -1: none */
  bool can_pack;       /* it can be copied into panels */
  bool can_weave;      /* or put side by side in registers for dot products */
  int left;            /* the operand that can be copied in panels of rows; -1: none */
  bool left_lies;      /* its copy lies as it does: of a window of halves, to be floats */
  int64_t rows_block;  /* the same of rows: a tile's are part of one; 0: any */
  bool
      limits_rows; /* of what is read along the vectors each row's index is limited: its address is computed on its own */
  int64_t block;   /* columns inside of which an index is constant; 0: any */
  int64_t bytes;   /* of an accumulator */
  double reduced;                        /* steps of the reduction */
  double ns;                             /* of all as generic_cost_ns says: whether threads are worth it */
  bool is_window, is_depthwise;          /* reads are windows; and every read goes along v */
  tile_walk walks[GENERIC_MAX_READS];    /* by read */
  int apart[GENERIC_MAX_READS];          /* by read: elements between lanes that shuffles bring together; 0: none */
  bool is_askew[GENERIC_MAX_READS];      /* by read: its rows are no whole number of lines apart */
  bool is_lane_askew[GENERIC_MAX_READS]; /* the same of rows along the last reduction axis */
  bool can_cut;                          /* blocks of the reduction can be added up */
  bool has_root;                         /* what reads the sums point by point is a stage of its own */
  const tn_tensor *padding; /* what only the reduction reads, zeros around an input for instance; NULL: nothing */
  bool can_lane;            /* vectors can go along the last reduction axis */
  int turned;               /* the read that has to be copied for that, with this axis last; -1: none */
  const char *dot;          /* the intrinsic's name; NULL: none fits */
  int dot_axis;   /* the reduction's axis k that groups of steps go along: the last or, of a window, that of channels */
  int dot_turned; /* the left operand, where it has to be copied with k last; -1: it lies so */
  int dot_group;  /* elements of k in a lane */
  bool dots_lie;  /* vectors of them along the reduction: both operands lie so, but for one ... */
  int lie_turned; /* ... that has to be copied with k last; -1: none */
  bool dots_across; /* vectors of them across the columns, which are as many as lanes */
  bool dot_signed;  /* it takes registers and instructions of its own */
  bool dot_halves;  /* so does each operand, whose halves are multiplied one after the other */
  int n_parities;   /* their data axes are in no tile, and inside of all loops that threads share */
  tile_parity parities[TILE_MAX_PARITIES];
} tile_facts;

/* Where blocks of DEPTH steps cut the reduction, whose last axis is its innermost loop. */
typedef struct tile_cut {
  int axis; /* cut in parts of STEPS; axes behind it are whole in a block, those before it outside */
  int64_t steps;
  double blocks;
} tile_cut;

/* How many reads there are of a tensor. */
int tile_reads_of(const generic_reads *r, const tn_tensor *tensor);
/* Facts of the group. NULL: the group has no anchor, or its stage cannot be a tile. */
const void *tile_describe(const generic_draft *d, const generic_group *g);
/* Finds COND's parities for F, whose reads are described: they become those of one point of each. What else COND says is not
 * looked at. */
void tile_describe_parities(tile_facts *f, const tir_expr *cond);
/* Where lanes along axis V come in turns (X[v//2] * W[v%2]), of which LANES or a few times as many are whole ones: R's reads as those
 * of a tile, X along the vectors and W shared by all of them, and how long a turn is. 0: R is as it was. */
int64_t tile_weave_lanes(generic_reads *r, int v, int64_t lanes);
/* False: DEPTH is no such cut, or all of the reduction. */
bool tile_cut_of(const generic_reads *r, int64_t depth, tile_cut *out);
/* Whether STEPS of the reduction may lie beside each column: all of them are one vector, and what each operand reads of that is
 * loaded by one or two. */
bool tile_goes_beside(const tile_facts *f, int64_t steps);
/* Whether what such a vector reads comes out of a row by a shuffle; else it is as it was loaded. */
bool tile_beside_shuffles(const tile_facts *f, int read);
/* Whether the plan's choices fit each other and the registers. */
bool tile_goes_together(const tile_facts *f, const int32_t *value);
/* Whether read READ is one of the panels that the shared operand is copied to: as other reads along the vectors of the same tensor are. */
bool tile_is_in_panels(const tile_facts *f, const int32_t *value, int read);
/* Whether it is copied in panels of rows. */
bool tile_is_left(const tile_facts *f, const int32_t *value, int read);
/* The same in every call: a copy of it is made before the first. */
bool tile_is_constant(const generic_read *read);
/* Copied and read as f32 only: the copy holds f32 (tir/pass_widen_copies.c), unless it is an argument. */
bool tile_is_widened(const tile_facts *f, const int32_t *value, int read);
/* The values that each field may have. FACTS are tile_facts. */
void tile_space(const void *facts, plan_space *s);
/* FACTS are tile_facts, VALUE has TILE_FIELD_COUNT numbers. */
bool tile_realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *value);
/* The parity of which AXIS is the data axis; NULL: of none. */
static inline const tile_parity *tile_parity_of(const tile_facts *f, int axis) {
  for (int i = 0; i < f->n_parities; i++)
    if (f->parities[i].data == axis) return &f->parities[i];
  return NULL;
}
/* 1 for an axis that there is not. */
static inline int64_t tile_extent_of(const tile_facts *f, int axis) { return axis < 0 ? 1 : f->reads.extent[axis]; }
/* A vector times a matrix: there is no tile of rows, only sums of columns. */
static inline bool tile_is_single_row(const tile_facts *f) { return tile_extent_of(f, f->u) == 1; }
/* Lanes of a vector of accumulators. */
static inline int64_t tile_lanes(const tile_facts *f, const int32_t *value) { return value[TILE_WIDTH] / f->bytes; }
/* Where every read goes along the vectors, a filter's steps from this axis on are written out: all, or those of its last axes. The
 * number of axes: none are. */
static inline int tile_unrolled_from(const tile_facts *f) {
  int from = f->reads.n_axes;
  int64_t steps = 1;
  while (f->is_depthwise && from > f->reads.n_data && steps * f->reads.extent[from - 1] <= TILE_MAX_UNROLLED)
    steps *= f->reads.extent[--from];
  return from;
}
static inline bool tile_is_unrolled(const tile_facts *f) { return tile_unrolled_from(f) < f->reads.n_axes; }
/* The operand that is copied with the last reduction axis last; -1: none. */
static inline int tile_turned(const tile_facts *f, const int32_t *value) {
  if (value[TILE_LANES] == 1) return value[TILE_DOT] ? f->lie_turned : f->turned;
  return value[TILE_DOT] ? f->dot_turned : -1;
}
/* A vector has steps of the reduction beside all columns, and a tile's vectors are steps that follow each other. */
static inline bool tile_is_beside(const int32_t *value) { return value[TILE_LANES] > 1; }
/* Steps that a dot product takes at once are rows of the shared operand, which shuffles put side by side each time that they are used. */
static inline bool tile_is_woven(const int32_t *value) { return value[TILE_PACK] == TILE_PACK_WOVEN; }
/* Elements of a tile along the last data axis. */
static inline int64_t tile_columns(const tile_facts *f, const int32_t *value) {
  if (tile_is_beside(value)) return f->reads.extent[f->v];
  return value[TILE_VECTORS] * (value[TILE_LANES] ? 1 : tile_lanes(f, value));
}

/* Columns of COLUMNS that are put side by side at a time: of each row a whole register or, where that does not divide them, a part. */
static inline int64_t tile_woven_columns(const tile_facts *f, const int32_t *value, int64_t columns) {
  int64_t lanes = tile_lanes(f, value), by = lanes * f->dot_group;
  while (by > lanes && (columns % by != 0 || f->reads.extent[f->v] < by)) by /= 2; /* the copy ends in a whole part */
  return by;
}

/* Whether the copy of the operand of rows lies as the operand does. */
static inline bool tile_left_lies(const tile_facts *f, const int32_t *value) {
  return f->left_lies || value[TILE_LANES];
}

#endif
