/* registry.h: what the schedules of one program share, so that copying a schedule copies only numbers: interned axis
 * names, and the ops made by cache_read and cache_write (the same request gives the same op). Lives in the program's
 * context. */
#ifndef TENON_SCHEDULE_REGISTRY_H
#define TENON_SCHEDULE_REGISTRY_H

#include "schedule/state.h"

typedef struct schedule_registry schedule_registry;

/* The program's registry, made on first use; NULL when memory ran out. */
schedule_registry *schedule_registry_of(tn_program *program);
/* The one copy of a text. NULL when memory ran out. */
const char *schedule_intern(tn_program *program, const char *text);
/* "FIRST.SECOND". */
const char *schedule_intern_joined(tn_program *program, const char *first, const char *second);
const char *schedule_internf(tn_program *program, const char *fmt, ...) TN_PRINTF(2, 3);
/* Lists S with its program, so that the context frees what nobody freed. */
void schedule_registry_link(tn_schedule *s);
void schedule_registry_unlink(tn_schedule *s);

/* NAME[ax0, ax1, ..] = TENSOR[ax0, ax1, ..] */
const te_op *schedule_copy_op(tn_program *program, const tn_tensor *tensor, const char *name);
/* OP with reads of FROM turned into reads of TO; same axes. */
const te_op *schedule_reread_op(tn_program *program, const te_op *op, const tn_tensor *from, const tn_tensor *to);
/* OP under other names, one for each output, with fresh data axes "<axis>.c". */
const te_op *schedule_renamed_op(tn_program *program, const te_op *op, const char *const *names);
/* An op with OP's axes and names whose body reads FROM's outputs, one for each of OP's, at these axes. */
const te_op *schedule_forward_op(tn_program *program, const te_op *op, const te_op *from);
/* An op that computes BODY over AXES, with the outputs' names of LIKE. BODY NULL: NULL. */
const te_op *schedule_op_like(tn_program *program, const te_op *like, int n_axes, tn_axis **axes, const tir_expr *body);

/* Ops that a primitive makes elsewhere: under a word, which has to live as long as the program, and two pointers that decide them. NULL: none yet; and, of
 * keeping, out of memory or OP was NULL. */
const te_op *schedule_find_op(tn_program *program, const char *kind, const void *a, const void *b);
const te_op *schedule_keep_op(tn_program *program, const char *kind, const void *a, const void *b, const te_op *op);

/* What was worked out once of an op's body, in the context's arena; NULL: nothing yet. Without memory it is not kept. */
const tir_expr *schedule_known_body(const tn_program *program, const te_op *op);
void schedule_keep_body(tn_program *program, const te_op *op, const tir_expr *body);
/* What the op's own body reads (generic_reads.c), and what the text of an index map says (layout.c); the text is interned. */
const struct generic_reads *schedule_known_reads(const tn_program *program, const te_op *op);
void schedule_keep_reads(tn_program *program, const te_op *op, const struct generic_reads *reads);
const struct schedule_known_map *schedule_map_of_text(const tn_program *program, const char *text);
void schedule_keep_map(tn_program *program, const char *text, const struct schedule_known_map *map);

#endif
