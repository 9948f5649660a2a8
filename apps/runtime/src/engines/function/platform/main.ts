/**
 * The program that hosts one function. It runs on Deno, in a sandbox, and is as little trusted as the code that it hosts: what
 * it may do is decided outside of it.
 */
import { deno } from './deno.ts'
import { hostFunction } from './host.ts'

// What a service throws on the side is its own affair: it is told of it in its log, and goes on.
globalThis.addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  console.error('uncaught', event.reason)
})
globalThis.addEventListener('error', (event) => {
  event.preventDefault()
  console.error('uncaught', event.error)
})

void hostFunction(deno.args)
