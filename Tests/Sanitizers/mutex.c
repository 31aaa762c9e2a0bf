// Lets the thread sanitizer see how Swift's Mutex is taken on Linux, so that nothing has to be
// suppressed:
//
//     clang -shared -fPIC -O1 -o mutex.so mutex.c && LD_PRELOAD=./mutex.so swift test --sanitize=thread
//
// Mutex is a futex with priority inheritance. The compiler puts the compare-and-exchange of the free
// case into our code, where the sanitizer sees it. Who finds it taken takes it in _lockSlow, and who
// unlocks it while somebody waits hands it over in _unlockSlow: both stand in
// libswiftSynchronization.so, which is not instrumented, and the kernel writes the word. What one
// thread did before it unlocked then seems to happen at the same time as what the next one does, and
// every contended withLock counts as a race. Here the same two functions tell the sanitizer what they
// do; all that they guard is checked like anything else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// Weak: programs without the sanitizer, such as the build tool itself, load this file, too.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

typedef SWIFT void (*LockSlow)(uint32_t thread, SELF void *word);
typedef SWIFT void (*UnlockSlow)(SELF void *word);

SWIFT void lock_slow(uint32_t thread, SELF void *word) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF void *word) __asm__(UNLOCK_SLOW);

// Looked up once, before main: the loader's own lock is not taken while a mutex is waited for.
static LockSlow original_lock;
static UnlockSlow original_unlock;

__attribute__((constructor)) static void look_up(void) {
    original_lock = (LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW);
    original_unlock = (UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW);
}

SWIFT void lock_slow(uint32_t thread, SELF void *word) {
    original_lock(thread, word);
    if (__tsan_acquire) __tsan_acquire(word);
}

SWIFT void unlock_slow(SELF void *word) {
    if (__tsan_release) __tsan_release(word);
    original_unlock(word);
}
