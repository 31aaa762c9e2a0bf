/* Preloaded under valgrind, whose sigsuspend returns at once without a signal: the main thread of a
   Swift program, which waits with it for ever, would spin and be counted. */
#include <signal.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    pthread_sigmask(SIG_SETMASK, mask, 0);
    for (;;) sleep(1000);
}
