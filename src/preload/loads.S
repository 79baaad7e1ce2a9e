// SPDX-License-Identifier: BSD-3-Clause
// Notes that the process loads a library, which may be a GPU runtime: dlopen sets a variable and jumps to the
// C library's own, which finds by the return address on whose behalf it loads. So nothing is called and
// nothing comes back here.

#if defined(__x86_64__)

        .text
        .balign 16
        .globl  dlopen
        .type   dlopen, @function
dlopen:
        endbr64
        movq    unisono_load_flag(%rip), %rax
        movb    $1, (%rax)
        movq    unisono_other_load_flag(%rip), %rax
        movb    $1, (%rax)
        jmp     *next_dlopen(%rip)
        .size   dlopen, . - dlopen

// The first time: rdi and rsi hold the arguments.
        .type   find_dlopen, @function
find_dlopen:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    unisono_find_next_dlopen
        movq    %rax, next_dlopen(%rip)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   find_dlopen, . - find_dlopen

#elif defined(__aarch64__)

        .text
        .balign 16
        .globl  dlopen
        .type   dlopen, %function
dlopen:
        hint    #34
        adrp    x16, unisono_load_flag
        ldr     x16, [x16, :lo12:unisono_load_flag]
        mov     w17, #1
        strb    w17, [x16]
        adrp    x16, unisono_other_load_flag
        ldr     x16, [x16, :lo12:unisono_other_load_flag]
        strb    w17, [x16]
        adrp    x16, next_dlopen
        ldr     x16, [x16, :lo12:next_dlopen]
        br      x16
        .size   dlopen, . - dlopen

        .type   find_dlopen, %function
find_dlopen:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset 29, -32
        .cfi_offset 30, -24
        stp     x0, x1, [sp, #16]
        bl      unisono_find_next_dlopen
        mov     x16, x0
        adrp    x17, next_dlopen
        str     x16, [x17, :lo12:next_dlopen]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   find_dlopen, . - find_dlopen

#else
#error "src/preload/loads.S knows x86-64 and AArch64 only"
#endif

        .data
        .balign 8
next_dlopen:
        .quad   find_dlopen

        .section .note.GNU-stack, "", %progbits
