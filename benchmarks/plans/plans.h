/* plans.h: tenon-plans: figures about the space of plans (schedule/plan.h) that need the library's inside. */
#ifndef TENON_BENCH_PLANS_H
#define TENON_BENCH_PLANS_H

/* How many plans a second are ranked by their analytic cost alone, and realized, lowered and scored by a trained model.
 * PROGRAM NULL: three usual ones. 0 when all went well. */
int plans_rate(const char *program);

#endif
