import { maxWaitingReason, topics } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { createProgress } from './progress.ts'

/** A download of 1,000,000 bytes, with a clock in seconds. */
function download() {
  let seconds = 0
  const progress = createProgress('example/nginx:1', () => seconds * 1000)
  progress.announce(1_000_000)
  return { ...progress, pass: (more: number) => void (seconds += more) }
}

describe('the rate of a download', () => {
  it('is not known in its first second, and is that of all bytes then', () => {
    const { shown, received, pass } = download()
    received(500)
    expect(shown().bytesPerSecond).toBeUndefined()
    pass(2)
    expect(shown()).toMatchObject({ receivedBytes: 500, bytesPerSecond: 250 })
  })

  it('is that of the last seconds, and falls to 0 while nothing arrives', () => {
    const { shown, received, pass } = download()
    for (let second = 0; second < 60; second++) {
      received(second < 30 ? 10_000 : 100)
      pass(1)
    }
    expect(shown().bytesPerSecond).toBe(100)
    pass(1000)
    expect(shown().bytesPerSecond).toBe(1)
  })

  it('does not count bytes that were on the disk', () => {
    const { shown, received, found, pass } = download()
    found(900_000)
    received(100)
    pass(1)
    expect(shown()).toMatchObject({ receivedBytes: 900_100, bytesPerSecond: 100 })
    found(-900_000)
    expect(shown()).toMatchObject({ receivedBytes: 100, bytesPerSecond: 100 })
  })
})

describe('an interruption of a download', () => {
  it('is counted, and shown with the time that is left while nothing is requested', () => {
    const { shown, waits, pass } = download()
    expect(shown()).toEqual({ source: 'example/nginx:1', receivedBytes: 0, totalBytes: 1_000_000 })
    const over = waits(9500, new Error('host: socket hang up'))
    pass(2)
    const waiting = { seconds: 8, reason: 'host: socket hang up' }
    expect(shown()).toMatchObject({ interruptions: 1, waiting })
    pass(60)
    expect(shown().waiting?.seconds).toBe(0)
    over()
    expect(shown()).toMatchObject({ interruptions: 1 })
    expect(shown().waiting).toBeUndefined()
  })

  it('of several layers is shown with the one that continues first', () => {
    const { shown, waits } = download()
    waits(30_000, new Error('slow'))
    const over = waits(10_000, new Error('soon'))
    expect(shown()).toMatchObject({ interruptions: 2, waiting: { seconds: 10, reason: 'soon' } })
    over()
    expect(shown().waiting?.reason).toBe('slow')
  })

  it.each([
    ['a megabyte of text', 'x'.repeat(1_000_000)],
    ['lines and control sequences', 'one\n\u001b[2Jtwo\r\nthree'],
    ['the password of a URL', 'https://user:hunter2@registry.test/v2 failed'],
  ])(
    'has a reason that is short, on one line and without secrets, whatever the registry sends: %s',
    (_, text) => {
      const { shown, waits } = download()
      waits(1000, new Error(text))
      const { reason } = shown().waiting!
      expect(reason.length).toBeLessThanOrEqual(maxWaitingReason)
      expect(reason).not.toMatch(/\p{Cc}|hunter2/u)
      expect(topics.pulls.data.safeParse([shown()]).success).toBe(true)
    },
  )
})
