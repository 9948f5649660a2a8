import { describe, expect, it } from 'vitest'
import {
  discoveryReportSeconds,
  identityCheckSeconds,
  identityReportSeconds,
  isOnline,
  onlineWindowMs,
} from './presence.ts'

describe('a node', () => {
  it.each([
    [discoveryReportSeconds, 300_000],
    [identityCheckSeconds, 1_500_000],
    [1, 2500],
  ])('that reports every %d s is online for %d ms after its last report', (seconds, windowMs) => {
    const lastReportMs = 1e12
    expect(onlineWindowMs(seconds)).toBe(windowMs)
    expect(isOnline(lastReportMs, lastReportMs + windowMs, seconds)).toBe(true)
    expect(isOnline(lastReportMs, lastReportMs + windowMs + 1, seconds)).toBe(false)
  })

  it('is online if its clock, or the one of another replica, is ahead', () => {
    expect(isOnline(1e12 + 60_000, 1e12, discoveryReportSeconds)).toBe(true)
  })

  it.each([
    [60, 600],
    [600, 600],
    [3600, 3600],
  ])('with an edge ID token of %d s contacts the identity service every %d s', (lifetime, interval) => {
    expect(identityReportSeconds(lifetime)).toBe(interval)
  })

  it('is online for the identity service while it renews its token as late as a runtime does', () => {
    const margin = 60
    for (const lifetime of [60, 600, 661, 1199, 3600]) {
      // The runtime checks at fixed times. The worst case: just after the first check, it renewed the token for another reason.
      const latest = Math.max(identityCheckSeconds, lifetime - margin + identityCheckSeconds)
      expect(isOnline(0, latest * 1000, identityReportSeconds(lifetime))).toBe(true)
    }
  })
})
