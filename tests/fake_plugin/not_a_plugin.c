// not_a_plugin.c - a library without GetPjrtApi.
__attribute__((visibility("default"))) int hsc_not_a_plugin(void);
int hsc_not_a_plugin(void) {
  return 42;
}
