/** Which start of a runtime a request is from: with it, the identity service notices two devices with one key. */
import * as z from 'zod'

/** 128 random bits in base64url. */
const startIdPattern = /^[\w-]{22}$/

const startClaim = z.object({
  /** Made up at the start, and only in memory: a copy of the disk has another one. */
  id: z.string().regex(startIdPattern),
  /** Number of the request in this start, from 1. */
  count: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
})
export type StartClaim = z.infer<typeof startClaim>

/** The claim `start` of a proof; undefined if it is missing or ill formed, as of an earlier or a later runtime. */
export const readStartClaim = (claim: unknown): StartClaim | undefined => startClaim.safeParse(claim).data
