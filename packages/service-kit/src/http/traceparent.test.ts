import { describe, expect, it } from 'vitest'
import { traceparentOf } from './traceparent.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'

describe('the trace of a caller', () => {
  it('is read from the header', () => {
    const raw = ['Host', 'x', 'TraceParent', `00-${trace}-${span}-01`]
    expect(traceparentOf(raw)).toEqual({ traceId: trace, spanId: span })
  })

  it('may have a span that begins with zeros', () => {
    const first = `${'0'.repeat(15)}1`
    expect(traceparentOf(['traceparent', `00-${trace}-${first}-00`])).toEqual({
      traceId: trace,
      spanId: first,
    })
  })

  it.each([
    ['has an unknown version', `01-${trace}-${span}-01`],
    ['has the forbidden version', `ff-${trace}-${span}-01`],
    ['is of zeros', `00-${'0'.repeat(32)}-${span}-01`],
    ['has a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
    ['is in capitals', `00-${trace.toUpperCase()}-${span}-01`],
    ['has more than four parts', `00-${trace}-${span}-01-x`],
    ['has a line break', `00-${trace}-${span}-01\n`],
    ['is cut', `00-${trace}-${span}`],
    ['is text', '"} forged'],
    ['is long', '0'.repeat(10_000)],
    ['is empty', ''],
  ])('is ignored if it %s', (_, value) => {
    expect(traceparentOf(['traceparent', value])).toBe(undefined)
  })

  it('is ignored if it came twice', () => {
    const value = `00-${trace}-${span}-01`
    expect(traceparentOf(['traceparent', value, 'Traceparent', value])).toBe(undefined)
  })
})
