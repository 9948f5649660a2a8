/** Errors with the name of the container that they are about. */
import { RpcError } from '@selvedge/protocol'

export const named = (name: string, cause: RpcError): RpcError =>
  new RpcError(cause.reason ?? 'container_failed', `${name}: ${cause.message}`, { cause, hint: cause.hint })

/** Refusals name the container. */
export function naming<T>(
  { next: { name } }: { readonly next: { readonly name: string } },
  work: () => T,
): T {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof RpcError ? named(name, cause) : cause
  }
}
