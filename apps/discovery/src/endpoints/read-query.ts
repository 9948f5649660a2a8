import { OAuthError } from '@selvedge/protocol'
import type * as z from 'zod'

/** @throws OAuthError `invalid_request` if the query does not have this form */
export function readQuery<T extends z.ZodType>(type: T, given: unknown): z.infer<T> {
  const read = type.safeParse(given)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new OAuthError('invalid_request', `"${issue?.path.join('.') || 'cluster'}": ${issue?.message}`)
}
