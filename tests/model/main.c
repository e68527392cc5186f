/* The test program of features and cost model. */
int run_features(void);
int run_lowered(void);
int run_model(void);

int main(void) { return run_features() + run_lowered() + run_model(); }
