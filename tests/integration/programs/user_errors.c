// SPDX-License-Identifier: BSD-3-Clause
// Error classes and codes of the program's, and error handlers of what is no communicator of the world:
// MPI 4.1, sections 9.2, 9.3, 9.5 and 11.4. Prints what the MPI alone should print as well, and OK; with the
// argument `fatal` a collective fails under the handler that ends the job, and nothing follows.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

// Intel MPI starts no world beside a session that is there.
#ifdef I_MPI_NUMVERSION
#define WORLD_COMES_FIRST 1
#else
#define WORLD_COMES_FIRST 0
#endif
#define HAS_REMOVAL (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))

static int rank, size, wrong, handled, handled_code;

static void check(int is_right, const char* what) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static void use(MPI_Comm comm, const char* when) {
  for (int turn = 0; turn < 10; ++turn) {
    int one = 1, sum = 0, count = 0;
    MPI_Comm_size(comm, &count);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == count, when);
  }
}

static void handle(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  use(*comm, "sum inside a handler");
}

static int last_used_code(void) {
  int *value, is_set;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &is_set);
  check(is_set, "attribute MPI_LASTUSEDCODE");
  return is_set ? *value : -1;
}

static int is_of_class(int code, int wanted) {
  int class = -1;
  return MPI_Error_class(code, &class) == MPI_SUCCESS && class == wanted;
}

static int says(int code, const char* wanted) {
  char text[MPI_MAX_ERROR_STRING] = "?";
  int length = -1;
  MPI_Error_string(code, text, &length);
  return strcmp(text, wanted) == 0 && length == (int)strlen(wanted);
}

static int user_class, user_code;

static int delete_with_users_code(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)keyval, (void)value;
  use(comm, "sum inside a delete callback");
  return *(int*)state != 0 ? user_code : MPI_SUCCESS;
}

// An error of the program's own comes back from the communicator's end as the MPI has it.
static void free_with_error(void) {
  MPI_Comm comm;
  int keyval, fails = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // MPICH asks that one
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_users_code, &keyval, &fails);
  MPI_Comm_set_attr(comm, keyval, NULL);
  use(comm, "sum before a free that fails");
  const int error = MPI_Comm_free(&comm);
  if (rank == 0) {
    printf("free with an error: %s, %s\n", is_of_class(error, user_class) ? "the program's class" : "another",
           comm == MPI_COMM_NULL ? "freed" : "there");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  fails = 0;
  if (comm != MPI_COMM_NULL) {
    use(comm, "sum on what was not freed");
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free_keyval(&keyval);
}

static void add_and_use(void) {
  int other_code;
  const int before = last_used_code();
  check(before >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE at the beginning");
  MPI_Add_error_class(&user_class);
  check(user_class > MPI_ERR_LASTCODE && last_used_code() >= user_class, "class");
  MPI_Add_error_code(user_class, &user_code);
  MPI_Add_error_code(MPI_ERR_OTHER, &other_code);
  check(is_of_class(user_code, user_class) && is_of_class(other_code, MPI_ERR_OTHER), "class of a code");
  check(says(user_code, ""), "text of a code without one");
  MPI_Add_error_string(user_code, "one of ours");
  MPI_Add_error_string(user_class, "ours");
  check(says(user_code, "one of ours") && says(user_class, "ours"), "text");
  use(MPI_COMM_WORLD, "sum behind new codes");
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  use(comm, "sum before a handler");
  MPI_Comm_call_errhandler(comm, user_code);
  check(handled == 1 && handled_code == user_code, "handler of a code of the program's");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  use(comm, "sum behind a handler");
  MPI_Comm_free(&comm);
  free_with_error();
#if HAS_REMOVAL
  MPI_Remove_error_string(user_code);
  check(says(user_code, ""), "text that was removed");
  MPI_Remove_error_string(user_class);
  MPI_Remove_error_code(user_code);
  MPI_Remove_error_code(other_code);
  MPI_Remove_error_class(user_class);
  use(MPI_COMM_WORLD, "sum behind removed codes");
#endif
}

#ifdef MPI_SESSION_NULL
// MPICH 4.0 creates no handler before the first session.
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
#define HANDLER_NEEDS_SESSION 1
#else
#define HANDLER_NEEDS_SESSION 0
#endif

// Of a session's communicator: MPICH 4.0 makes no collective inside of it.
static void note(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled;
  handled_code = *code;
}

static void handle_of_session(MPI_Session* session, int* code, ...) {
  (void)session;
  ++handled;
  handled_code = *code;
}

static MPI_Session session;

// Errors of sessions and of their communicators, before the world begins where that may be.
static int use_session(void) {
  MPI_Errhandler of_session, of_comm;
  MPI_Group group;
  MPI_Comm comm;
  int class = 0, value = -1;
  if (HANDLER_NEEDS_SESSION) {
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 0;
    MPI_Session_create_errhandler(handle_of_session, &of_session);
    MPI_Session_set_errhandler(session, of_session);
  } else {
    MPI_Session_create_errhandler(handle_of_session, &of_session);
    if (MPI_Session_init(MPI_INFO_NULL, of_session, &session) != MPI_SUCCESS) return 0;
  }
  MPI_Comm_create_errhandler(note, &of_comm);
  MPI_Add_error_class(&class);
  check(class >= MPI_ERR_LASTCODE, "number of a class before MPI_Init");
  MPI_Session_call_errhandler(session, class);
  check(handled == 1 && handled_code == class, "handler of a session");
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unisono.errors", MPI_INFO_NULL, of_comm, &comm);
  MPI_Group_free(&group);
  use(comm, "sum of a session");
  handled = 0;
  MPI_Bcast(&value, -1, MPI_INT, 0, comm);
  check(handled == 1 && is_of_class(handled_code, MPI_ERR_COUNT), "handler of its communicator");
  use(comm, "sum of a session behind an error");
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&of_comm);
  MPI_Errhandler_free(&of_session);
  handled = 0;
  return 1;
}

// MPICH 4 and Intel MPI start no second time once their last session has ended.
static void end_session(void) {
  use(MPI_COMM_WORLD, "sum beside a session");
  MPI_Session_finalize(&session);
}
#else
static void end_session(void) {}

static int use_session(void) {
  return 0;
}
#endif

static void fail_under(MPI_Errhandler handler) {
  int value = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  use(comm, "sum before the end");
  if (rank == 0) puts("fails now");
  fflush(stdout);
  MPI_Barrier(comm);
  MPI_Bcast(&value, -1, MPI_INT, 0, comm);
  puts("went on");
}

int main(int argc, char** argv) {
  const int is_fatal = argc > 1 && strcmp(argv[1], "fatal") == 0;
  const int is_early = !is_fatal && !WORLD_COMES_FIRST;
  int has_sessions = is_early && use_session();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is_fatal) {
#ifdef MPI_ERRORS_ABORT
    fail_under(MPI_ERRORS_ABORT);
#else
    fail_under(MPI_ERRORS_ARE_FATAL);
#endif
    return 0;
  }
  if (!is_early) has_sessions = use_session();
  if (has_sessions) end_session();
  add_and_use();
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sessions: %s\n%s\n", has_sessions ? "yes" : "no", all_wrong == 0 ? "OK" : "WRONG");
  MPI_Finalize();
  return all_wrong != 0;
}
