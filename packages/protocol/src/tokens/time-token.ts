/** The time of an identity service, signed for one question: what a device with a wrong clock may believe. */
import { type BaseClaims, nonEmpty, type TokenProfile } from './profiles.ts'

/** The audience of signed times: the node that asked. */
export const timeAudience = 'urn:selvedge:time'

export interface TimeClaims extends BaseClaims {
  /** What the node made up for its question; the answer to another question has another one. */
  readonly nonce: string
  /** Unix milliseconds. */
  readonly time: number
}

export const timeProfile: TokenProfile<TimeClaims> = {
  label: 'signed time',
  typ: 'time+jwt',
  maxLifetime: 60,
  check({ nonce, time }) {
    if (!nonEmpty(nonce)) return 'claim "nonce" is not a non-empty string'
    return Number.isSafeInteger(time) ? undefined : 'claim "time" is not a whole number'
  },
}
