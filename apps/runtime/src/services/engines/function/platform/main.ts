/**
 * The program that hosts one function. It runs on Deno, in a sandbox, and is as little trusted as the code that it hosts: what
 * it may do is decided outside of it.
 */
import { deno } from './deno.ts'
import { hostFunction } from './host.ts'

// An exception outside of a request is written to the log of the service, which continues.
globalThis.addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  console.error('uncaught', event.reason)
})
globalThis.addEventListener('error', (event) => {
  event.preventDefault()
  console.error('uncaught', event.error)
})

void hostFunction(deno.args)
