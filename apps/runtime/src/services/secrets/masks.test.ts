import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../../tests/harness/cpu.ts'
import { logLines } from '../engines/log-lines.ts'
import { createMask, shownSecret } from './masks.ts'

const value = 'S3cr3t/value+of "one" line'
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg
q2mPz0aJbN3c
-----END PRIVATE KEY-----
`
const maskOf = (...values: (string | Buffer)[]) => {
  const mask = createMask(logLines.maxLine)
  mask.learn(values.map((each) => Buffer.from(each as string)))
  return mask
}

describe('a text without the values of secrets', () => {
  const { hide } = maskOf(value)
  it.each<[string, string]>([
    ['as it is', value],
    ['as JSON', JSON.stringify(value).slice(1, -1)],
    ['in a URL', encodeURIComponent(value)],
    ['as base64', Buffer.from(value).toString('base64')],
    ['as base64 for URLs', Buffer.from(value).toString('base64url')],
    ['as hexadecimal digits', Buffer.from(value).toString('hex')],
  ])('hides a value %s', (_, form) => {
    expect(hide(`before ${form} after ${form}`)).toMatch(/^before <secret>=* after <secret>=*$/)
  })

  it('has everything else', () => {
    expect(hide('S3cr3t/value')).toBe('S3cr3t/value')
    expect(createMask(logLines.maxLine).hide(value)).toBe(value)
  })

  it('hides each line of a value of several', () => {
    const { hide: hideKey } = maskOf(key)
    const shown = key
      .split('\n')
      .map((line) => hideKey(`  ${line}`))
      .join('\n')
    expect(shown).not.toMatch(/MIGH|q2mP|PRIVATE/)
    expect(hideKey('the key MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg is bad')).toBe(
      'the key <secret> is bad',
    )
  })

  it('hides a value without the newline at its end', () => {
    expect(maskOf('password1\n').hide('it is password1.')).toBe('it is <secret>.')
  })

  it('shows values of fewer than four characters: they would be everywhere', () => {
    expect(maskOf('abc').hide('abcd')).toBe('abcd')
    expect(maskOf('abcd').hide('abcd')).toBe(shownSecret)
  })

  it('hides a long value before a short one that is a part of it', () => {
    expect(maskOf('pass', 'password').hide('password pass')).toBe('<secret> <secret>')
  })

  it('hides bytes that are no text, in their printed forms', () => {
    const bytes = Buffer.from('00ff10fe80818283', 'hex')
    const mask = createMask(logLines.maxLine)
    mask.learn([bytes])
    expect(mask.hide(`x ${bytes.toString('hex')} ${bytes.toString('base64url')}`)).toBe('x <secret> <secret>')
  })

  it('hides values of before as well', () => {
    const mask = maskOf('first value')
    mask.learn([Buffer.from('second value')])
    mask.learn([Buffer.from('second value')])
    expect(mask.hide('first value, second value')).toBe('<secret>, <secret>')
  })

  it('hides the newest values, however many there were', () => {
    const mask = createMask(logLines.maxLine)
    for (let at = 0; at < 500; at++) mask.learn([Buffer.from(`value ${at}.`)])
    expect(mask.hide('value 499.')).toBe(shownSecret)
    expect(mask.hide('value 440.')).toBe(shownSecret)
  })
})

describe('lines of a stream', () => {
  const { maxLine } = logLines
  /** As the log splits what a program writes. */
  const split = (text: string) =>
    Array.from({ length: Math.ceil(text.length / maxLine) }, (_, at) =>
      text.slice(at * maxLine, (at + 1) * maxLine),
    )
  const write = (mask: ReturnType<typeof createMask>, text: string) =>
    split(text).map((line) => mask.hideLine('stdout', line))

  it.each(Array.from({ length: value.length + 1 }, (_, at) => at))(
    'have no part of a value that begins %i characters before the end of one',
    (before) => {
      const text = `${'.'.repeat(maxLine - before)}${value} after it`
      const shown = write(maskOf(value), text).join('')
      expect(shown.replaceAll('<secret>', '')).toMatch(/^\.+ after it$/)
    },
  )

  it('have no part of a value that is longer than several of them', () => {
    const long = Array.from({ length: maxLine * 3 }, (_, at) => (at * 7919).toString(36))
      .join('')
      .slice(0, maxLine * 3)
    const shown = write(maskOf(long), `before ${long} after`)
    expect(shown).toEqual(['before <secret>', '<secret>', '<secret>', '<secret> after'])
  })

  it('of another stream do not continue it', () => {
    const mask = maskOf(value)
    mask.hideLine('stdout', `${'.'.repeat(maxLine - 5)}${value.slice(0, 5)}`)
    expect(mask.hideLine('stderr', value.slice(5))).toBe(value.slice(5))
    expect(mask.hideLine('stdout', value.slice(5))).toBe(shownSecret)
    expect(mask.hideLine('stdout', value.slice(5))).toBe(value.slice(5))
  })

  it('are hidden in linear time, whatever value and line repeat', async () => {
    const mask = maskOf(`${'a'.repeat(60_000)}b`)
    const hideBoth = (line: string) => mask.hideLine('stdout', line)
    const growth = await growthOf(
      2000,
      (count) => 'a'.repeat(count),
      (text) => {
        hideBoth('.'.repeat(maxLine))
        hideBoth(text)
      },
    )
    expect(growth).toBeLessThan(linear)
  })
})
