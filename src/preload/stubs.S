// SPDX-License-Identifier: BSD-3-Clause
// The exported functions: PMPI_X is one bare jump through slot X, and MPI_X one through a slot of its own,
// since a profiling tool that the program is linked with comes between the two. So no argument is touched
// before it is known how the MPI in this process passes them. A slot leads first to the resolver below, which
// keeps every register that may hold an argument and then jumps where unisono_resolve says; that function
// fills the slots.
#include "preload/names.h"

#if defined(__x86_64__)

        .text

// --- x86-64: arguments in rdi rsi rdx rcx r8 r9, rax (number of vector arguments), xmm0-7, and on the stack ---
        .set    slot_number, 0
#define STUB(name)                                 \
        .balign 16;                                \
        .globl  name;                              \
        .type   name, @function;                   \
name:                                              \
        endbr64;                                   \
        jmp     *unisono_slots + 8 * slot_number(%rip); \
        .size   name, . - name;                    \
        .set    slot_number, slot_number + 1;
#define INNER_STUB(name) STUB(PMPI_##name)
#define OUTER_STUB(name) STUB(MPI_##name)
UNISONO_NAMES(INNER_STUB)
UNISONO_NAMES(OUTER_STUB)

        .set    slot_number, 0
#define UNRESOLVED(name)                           \
unresolved_##name:                                 \
        endbr64;                                   \
        pushq   $slot_number;                      \
        jmp     resolver;                          \
        .set    slot_number, slot_number + 1;
#define INNER_UNRESOLVED(name) UNRESOLVED(PMPI_##name)
#define OUTER_UNRESOLVED(name) UNRESOLVED(MPI_##name)
UNISONO_NAMES(INNER_UNRESOLVED)
UNISONO_NAMES(OUTER_UNRESOLVED)

// On entry the stack holds the slot number and above it the caller's return address; it is aligned to 16
// bytes.
        .type   resolver, @function
resolver:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $184, %rsp
        movups  %xmm0, (%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        movq    %rdi, 128(%rsp)
        movq    %rsi, 136(%rsp)
        movq    %rdx, 144(%rsp)
        movq    %rcx, 152(%rsp)
        movq    %r8, 160(%rsp)
        movq    %r9, 168(%rsp)
        movq    %rax, 176(%rsp)
        movq    8(%rbp), %rdi
        movq    16(%rbp), %rsi
        call    unisono_resolve
        movq    %rax, %r11
        movups  (%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
        movq    128(%rsp), %rdi
        movq    136(%rsp), %rsi
        movq    144(%rsp), %rdx
        movq    152(%rsp), %rcx
        movq    160(%rsp), %r8
        movq    168(%rsp), %r9
        movq    176(%rsp), %rax
        leave
        .cfi_def_cfa %rsp, 16
        leaq    8(%rsp), %rsp
        .cfi_def_cfa_offset 8
        jmp     *%r11
        .cfi_endproc
        .size   resolver, . - resolver

#elif defined(__aarch64__)

        .text

// --- AArch64: arguments in x0-x7, x8 (address of a result), q0-q7, and on the stack ---
        .set    slot_number, 0
#define STUB(name)                                 \
        .balign 16;                                \
        .globl  name;                              \
        .type   name, %function;                   \
name:                                              \
        hint    #34;                               \
        adrp    x16, unisono_slots + 8 * slot_number; \
        ldr     x16, [x16, :lo12:unisono_slots + 8 * slot_number]; \
        br      x16;                               \
        .size   name, . - name;                    \
        .set    slot_number, slot_number + 1;
#define INNER_STUB(name) STUB(PMPI_##name)
#define OUTER_STUB(name) STUB(MPI_##name)
UNISONO_NAMES(INNER_STUB)
UNISONO_NAMES(OUTER_STUB)

        .set    slot_number, 0
#define UNRESOLVED(name)                           \
unresolved_##name:                                 \
        hint    #34;                               \
        mov     x16, #slot_number;                 \
        b       resolver;                          \
        .set    slot_number, slot_number + 1;
#define INNER_UNRESOLVED(name) UNRESOLVED(PMPI_##name)
#define OUTER_UNRESOLVED(name) UNRESOLVED(MPI_##name)
UNISONO_NAMES(INNER_UNRESOLVED)
UNISONO_NAMES(OUTER_UNRESOLVED)

// On entry x16 holds the slot number and x30 the caller's return address.
        .type   resolver, %function
resolver:
        .cfi_startproc
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset 29, -224
        .cfi_offset 30, -216
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     x0, x16
        mov     x1, x30
        bl      unisono_resolve
        mov     x16, x0
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #224
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   resolver, . - resolver

#else
#error "src/preload/stubs.S knows x86-64 and AArch64 only"
#endif

        .data
        .balign 64
        .globl  unisono_slots
        .hidden unisono_slots
unisono_slots:
#define INNER_SLOT(name) .quad unresolved_PMPI_##name;
#define OUTER_SLOT(name) .quad unresolved_MPI_##name;
UNISONO_NAMES(INNER_SLOT)
UNISONO_NAMES(OUTER_SLOT)
        .size   unisono_slots, . - unisono_slots

        .section .note.GNU-stack, "", %progbits
