// SPDX-License-Identifier: BSD-3-Clause
// Mutexes and locks that clang knows: members say by which mutex they are guarded, functions which one they
// need, and tools/check_locks.py lets clang check it (-Wthread-safety). Other compilers see the standard's
// types alone.
#pragma once

#include <mutex>

#ifdef __clang__
#define UNISONO_THREADS(attribute) __attribute__((attribute))
#else
#define UNISONO_THREADS(attribute)
#endif

// Of classes: what can be held, and what holds it as long as it lives.
#define UNISONO_CAPABILITY(name) UNISONO_THREADS(capability(name))
#define UNISONO_SCOPED_CAPABILITY UNISONO_THREADS(scoped_lockable)
// Of variables: used only while the mutex is held; of pointers: what they point to is.
#define UNISONO_GUARDED_BY(mutex) UNISONO_THREADS(guarded_by(mutex))
#define UNISONO_PT_GUARDED_BY(mutex) UNISONO_THREADS(pt_guarded_by(mutex))
// Of functions: the caller holds it, or must not; takes it, gives it up, or takes it where it returns
// `result`.
#define UNISONO_REQUIRES(...) UNISONO_THREADS(requires_capability(__VA_ARGS__))
#define UNISONO_EXCLUDES(...) UNISONO_THREADS(locks_excluded(__VA_ARGS__))
#define UNISONO_ACQUIRE(...) UNISONO_THREADS(acquire_capability(__VA_ARGS__))
#define UNISONO_RELEASE(...) UNISONO_THREADS(release_capability(__VA_ARGS__))
#define UNISONO_TRY_ACQUIRE(result, ...) UNISONO_THREADS(try_acquire_capability(result, ##__VA_ARGS__))
// Of functions that return a mutex: under which name it is known.
#define UNISONO_RETURN_CAPABILITY(mutex) UNISONO_THREADS(lock_returned(mutex))
// Of functions that use what is guarded at a time when no other thread can: each says why.
#define UNISONO_NOT_CHECKED UNISONO_THREADS(no_thread_safety_analysis)

namespace unisono {

class UNISONO_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() UNISONO_ACQUIRE() { mutex_.lock(); }
  void unlock() UNISONO_RELEASE() { mutex_.unlock(); }
  bool try_lock() UNISONO_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class UniqueLock;
  std::mutex mutex_;
};

// Holds it from its beginning to its end.
class UNISONO_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) UNISONO_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Of one that try_lock() has taken.
  LockGuard(Mutex& mutex, std::adopt_lock_t) UNISONO_REQUIRES(mutex) : mutex_(mutex) {}
  ~LockGuard() UNISONO_RELEASE() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

// May be given up, taken again, and waited with.
class UNISONO_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) UNISONO_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~UniqueLock() UNISONO_RELEASE() {}
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;
  void lock() UNISONO_ACQUIRE() { lock_.lock(); }
  void unlock() UNISONO_RELEASE() { lock_.unlock(); }
  // For a condition variable, which returns holding it.
  std::unique_lock<std::mutex>& to_wait() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

// Gives up for as long as it lives what whoever makes it holds.
class UNISONO_SCOPED_CAPABILITY GivenUp {
 public:
  explicit GivenUp(Mutex& mutex) UNISONO_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~GivenUp() UNISONO_RELEASE() { mutex_.lock(); }  // clang's word for the end of either kind
  GivenUp(const GivenUp&) = delete;
  GivenUp& operator=(const GivenUp&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace unisono
