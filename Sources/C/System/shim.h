#pragma once
#include <malloc.h>
#include <sys/eventfd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

// What Glibc declares for _GNU_SOURCE only, which Swift's module does not define.
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int pthread_setname_np(unsigned long thread, const char *name);

// Has neither core dumps made of the process, nor its memory read by other processes of its user.
// prctl takes a variable number of arguments, which Swift cannot call.
static inline int netproxy_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
