// host.c - a host of the built-in device's plugin, for faults.py: opens it, compiles, runs, and
// says what went wrong. Exit code 0: the numbers were right; 1: a call gave an error, which is
// printed; 4: it worked and the numbers were wrong.
//
//   host PLUGIN.so
#include <stdio.h>

#include "pjrt/client.h"

static const char program[] =
    "HloModule host\n"
    "ENTRY main {\n"
    "  x = f32[64,64] parameter(0)\n"
    "  y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  t = f32[64,64] tanh(y)\n"
    "  ROOT z = f32[64,64] add(t, x)\n"
    "}\n";

enum { ROUNDS = 3, SIDE = 64 };

static float data[SIDE * SIDE];

// One client from its beginning to its end.
static hsc_status *use(hsc_plugin *plugin, bool *out_right) {
  static const int64_t dims[2] = {SIDE, SIDE};
  hsc_client *client = NULL;
  hsc_executable *executable = NULL;
  hsc_execution *execution = NULL;
  hsc_buffer *in = NULL;
  hsc_status *status = NULL;
  for (int i = 0; i < SIDE * SIDE; i++)
    data[i] = i % (SIDE + 1) ? 0 : 0.5f;
  HSC_GOTO(hsc_client_create(plugin, NULL, 0, &client));
  HSC_GOTO(hsc_client_compile(client, hsc_view_of(program), "hlo", (hsc_view){0}, &executable));
  HSC_GOTO(hsc_buffer_from_host(client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 2, dims, data},
                                HSC_HOST_COPY, NULL, &in));
  HSC_GOTO(hsc_execution_create(executable, 1, &execution));
  hsc_execution_set_argument(execution, 0, in);
  HSC_GOTO(hsc_execution_run(execution));
  HSC_GOTO(hsc_execution_await(execution));
  HSC_GOTO(hsc_buffer_to_host(hsc_execution_output(execution, 0), data, sizeof data));
  // tanh(0.25) + 0.5 on the diagonal, 0 elsewhere
  *out_right = data[0] > 0.7449f && data[0] < 0.7450f && data[1] == 0;
done:
  hsc_execution_destroy(execution);
  hsc_buffer_destroy(in);
  hsc_executable_destroy(executable);
  hsc_client_destroy(client);
  return status;
}

int main(int argc, char **argv) {
  hsc_plugin *plugin = NULL;
  bool right = true;
  hsc_status *status = argc > 1 ? hsc_plugin_open(argv[1], &plugin)
                                : HSC_ERR(INVALID_ARGUMENT, "usage: host PLUGIN.so");
  for (int round = 0; round < ROUNDS && !status && right; round++)
    status = use(plugin, &right);
  hsc_plugin_close(plugin);
  if (status)
    fprintf(stderr, "host: %s\n", hsc_status_message(status));
  int code = status ? 1 : 0;
  if (!status && !right) {
    fprintf(stderr, "host: wrong numbers: %g, %g\n", (double)data[0], (double)data[1]);
    code = 4;
  }
  hsc_status_free(status);
  return code;
}
