// test_cgroup.c - quotas and throttling of the process's own groups, both versions, in fake roots.
#include <math.h>
#include <stdlib.h>

#include "base/process/cgroup.h"
#include "unit.h"

typedef struct machine {
  const char *files[10];  // "path=text"
  double cores;
  const char *where;  // a part of it
  int64_t throttled_count, throttled_ns;
  double memory_bytes, memory_left_bytes;
} machine;

static const machine machines[] = {
    // no group at all, and a group without limits
    {{NULL}, INFINITY, "", 0, 0, INFINITY, INFINITY},
    {{"proc/self/cgroup=0::/\n", "sys/fs/cgroup/cpu.max=max 100000\n",
      "sys/fs/cgroup/memory.max=max\n"},
     INFINITY,
     "",
     0,
     0,
     INFINITY,
     INFINITY},
    // the limit stands at the process's own group
    {{"proc/self/cgroup=0::/work/job\n", "sys/fs/cgroup/cgroup.controllers=cpu\n",
      "sys/fs/cgroup/work/cpu.max=max 100000\n", "sys/fs/cgroup/work/job/cpu.max=50000 100000\n",
      "sys/fs/cgroup/work/job/memory.max=1000\n", "sys/fs/cgroup/work/job/memory.current=800\n",
      "sys/fs/cgroup/work/job/memory.stat=anon 1\ninactive_file 200\n",
      "sys/fs/cgroup/work/job/cpu.stat=usage_usec 9\nnr_periods 7\nnr_throttled 3\n"
      "throttled_usec 250\n"},
     0.5,
     "/work/job/cpu.max",
     3,
     250000,
     1000,
     400},
    // a kernel without limits of time counts no throttling; quotas of nothing are none
    {{"proc/self/cgroup=0::/job\n", "sys/fs/cgroup/cgroup.controllers=cpu\n",
      "sys/fs/cgroup/job/cpu.max=0 100000\n", "sys/fs/cgroup/job/cpu.stat=usage_usec 9\n"},
     INFINITY,
     "",
     0,
     0,
     INFINITY,
     INFINITY},
    // a parent is tighter than the group
    {{"proc/self/cgroup=0::/work/job\n", "sys/fs/cgroup/cgroup.controllers=cpu\n",
      "sys/fs/cgroup/work/cpu.max=150000 100000\n",
      "sys/fs/cgroup/work/job/cpu.max=400000 100000\n"},
     1.5,
     "/work/cpu.max",
     0,
     0,
     INFINITY,
     INFINITY},
    // the path is the host's, what is mounted is the container's
    {{"proc/self/cgroup=0::/docker/abc\n", "sys/fs/cgroup/cpu.max=200000 100000\n"},
     2,
     "/cgroup/cpu.max",
     0,
     0,
     INFINITY,
     INFINITY},
    // version 1
    {{"proc/self/cgroup=5:memory:/x\n4:cpu,cpuacct:/job\n1:name=systemd:/\n",
      "sys/fs/cgroup/cpu,cpuacct/cgroup.procs=1\n",
      "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us=25000\n",
      "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us=100000\n",
      "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat=nr_periods 9\nnr_throttled 4\n"
      "throttled_time 5000\n"},
     0.25,
     "/job/cpu.cfs_quota_us",
     4,
     5000,
     INFINITY,
     INFINITY},
    // version 1 without a limit
    {{"proc/self/cgroup=4:cpu:/job\n", "sys/fs/cgroup/cpu/cgroup.procs=1\n",
      "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us=-1\n",
      "sys/fs/cgroup/cpu/job/cpu.cfs_period_us=100000\n"},
     INFINITY,
     "",
     0,
     0,
     INFINITY,
     INFINITY},
    // version 1: memory, tightest at the parent, least left at the group itself
    {{"proc/self/cgroup=5:memory:/x/y\n", "sys/fs/cgroup/memory/cgroup.procs=1\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes=9223372036854771712\n",
      "sys/fs/cgroup/memory/x/memory.limit_in_bytes=4000\n",
      "sys/fs/cgroup/memory/x/memory.usage_in_bytes=1000\n",
      "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes=5000\n",
      "sys/fs/cgroup/memory/x/y/memory.usage_in_bytes=4900\n",
      "sys/fs/cgroup/memory/x/y/memory.stat=cache 7\ntotal_inactive_file 900\n"},
     INFINITY,
     "",
     0,
     0,
     4000,
     1000}};

static void make_file(const char *root, const char *row) {
  const char *text = strchr(row, '=') + 1;
  char path[512], command[700];
  snprintf(path, sizeof path, "%s/%.*s", root, (int)(text - row - 1), row);
  snprintf(command, sizeof command, "mkdir -p $(dirname '%s')", path);
  assert_int_equal(system(command), 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void limits_of_the_own_groups_are_found(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(machines); i++) {
    const machine *m = &machines[i];
    char root[] = "/tmp/hsc-cgroup-XXXXXX";
    char command[100];
    hsc_cgroup found;
    assert_non_null(mkdtemp(root));
    for (size_t f = 0; m->files[f]; f++)
      make_file(root, m->files[f]);
    hsc_cgroup_read(root, &found);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
    bool right = found.cores == m->cores && strstr(found.where, m->where) &&
                 found.throttled_count == m->throttled_count &&
                 found.throttled_ns == m->throttled_ns && found.memory_bytes == m->memory_bytes &&
                 found.memory_left_bytes == m->memory_left_bytes;
    if (!right)
      fail_msg("machine %zu: %g cores (%s), throttled %lld times, %lld ns, memory %g, left %g", i,
               found.cores, found.where, (long long)found.throttled_count,
               (long long)found.throttled_ns, found.memory_bytes, found.memory_left_bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(limits_of_the_own_groups_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
