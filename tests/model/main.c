/* The test program of features, estimates and cost model. */
int run_estimates(void);
int run_features(void);
int run_lowered(void);
int run_model(void);

int main(void) { return run_features() + run_lowered() + run_estimates() + run_model(); }
