import { describe, expect, it } from 'vitest'
import { exposition } from './exposition.ts'
import { createRegistry } from './registry.ts'

const labels = { method: ['getMe', 'updateGps'], outcome: ['ok'] }

describe('a family', () => {
  it('counts a value that is not declared as "other", so that callers add no series', () => {
    const registry = createRegistry()
    const calls = registry.counter('selvedge_calls_total', 'Calls.', labels)
    calls.count('getMe', 'ok')
    const hostile = [
      'toString',
      '__proto__',
      'constructor',
      '',
      'getMe"} 1\nfake_total 1',
      '🦊'.repeat(10_000),
    ]
    for (const name of hostile) calls.count(name, name)
    for (let at = 0; at < 10_000; at++) calls.count(`method-${at}`, `reason-${at}`)
    const text = exposition(registry.collect())
    expect(text.split('\n')).toEqual([
      '# HELP selvedge_calls_total Calls.',
      '# TYPE selvedge_calls_total counter',
      `selvedge_calls_total{method="other",outcome="other"} ${hostile.length + 10_000}`,
      'selvedge_calls_total{method="getMe",outcome="ok"} 1',
      '',
    ])
  })

  it('shows the buckets of a histogram as sums, up to +Inf', () => {
    const registry = createRegistry()
    const durations = registry.histogram('selvedge_time_seconds', 'Time.', { method: ['getMe'] })
    for (const seconds of [0.0004, 0.0005, 0.2, 60]) durations.observe(seconds, 'getMe')
    const lines = exposition(registry.collect()).split('\n')
    expect(lines).toContain('selvedge_time_seconds_bucket{method="getMe",le="0.0005"} 2')
    expect(lines).toContain('selvedge_time_seconds_bucket{method="getMe",le="0.25"} 3')
    expect(lines).toContain('selvedge_time_seconds_bucket{method="getMe",le="+Inf"} 4')
    expect(lines).toContain('selvedge_time_seconds_count{method="getMe"} 4')
    expect(lines.some((line) => line.includes('other'))).toBe(false)
  })

  it('with a reading that throws is left out, and the others are shown', () => {
    const registry = createRegistry()
    registry.gauge('selvedge_broken', 'Broken.', () => {
      throw new Error('no')
    })
    registry.gauge('selvedge_unknown', 'Unknown.', () => undefined)
    registry.gauge('selvedge_fine', 'Fine.', () => 3)
    registry.gauges('selvedge_states', 'States.', { state: ['up', 'down'] }, () => ({ up: 1, stranger: 2 }))
    const values = exposition(registry.collect())
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(values).toEqual(['selvedge_fine 3', 'selvedge_states{state="up"} 1'])
  })

  it('cannot be declared twice, nor with three labels', () => {
    const registry = createRegistry()
    registry.counter('selvedge_a_total', 'A.')
    expect(() => registry.counter('selvedge_a_total', 'A.')).toThrow('declared twice')
    expect(() => registry.counter('selvedge_b_total', 'B.', { a: [], b: [], c: [] })).toThrow('two labels')
  })
})
