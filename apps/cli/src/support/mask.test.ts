import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../tests/harness/cpu.ts'
import { isOfOneRevision } from './logs.ts'
import { maskLines } from './mask.ts'

const key = 'MIGHAgEAMBMGByqGSM49\nAgEGCCqGSM49AwEHBG0w\nawIBAQQgx1'

it.each([
  ['on several lines', key.split('\n'), [key]],
  ['of which only one line was written', ['a', 'AgEGCCqGSM49AwEHBG0w', 'b'], [key]],
  ['with line feeds written as \\n in its variable', key.split('\n'), [key.replaceAll('\n', '\\n')]],
  [
    'that was wrapped',
    ['MIGHAgEAMBMG', 'ByqGSM49AgEGCCqG', 'SM49AwEHBG0w'],
    ['MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0w'],
  ],
  ['of seven characters', ['the pin q7Rt2xZ!', 'xq7Rt2xZx'], ['q7Rt2xZ']],
  ['of three characters, as a word', ['pin=q7R;'], ['q7R']],
  ['in base64 of a longer text', [btoa('user:Zk3vR8qLmT2w'), btoa('me:Zk3vR8qLmT2w;')], ['Zk3vR8qLmT2w']],
  ['between control sequences', ['Zk3v\u001b[0mR8qL'], ['Zk3vR8qL']],
  ['that overlaps itself', ['ababababab'], ['abababab']],
])('removes a secret %s', (_, lines, secrets) => {
  const masked = maskLines(lines, secrets)
  expect(masked).toHaveLength(lines.length)
  expect(masked.join('\n')).toContain('<redacted>')
  expect(masked.join('\n')).not.toMatch(/MIG|AgEG|SM49|awIB|q7R|Zk3v|WmszdlI|azN2Ujh|abab|zdlI4/)
})

it.each([
  [['a', '-----BEGIN EC PRIVATE KEY-----', 'k1', '-----END EC PRIVATE KEY-----', 'b'], 'a b'],
  [['a', '-----BEGIN PRIVATE KEY-----', 'k1', 'k2'], 'a'],
  [['k1', 'k2', '-----END PRIVATE KEY-----', 'b'], 'b'],
])('removes a private key that no variable has: %j', (lines, left) => {
  expect(
    maskLines(lines, [])
      .filter((line) => line !== '<redacted>')
      .join(' '),
  ).toBe(left)
})

it('leaves other text, and short words inside of longer ones, as they are', () => {
  const lines = ['10 requests in 100 ms', '', '-----BEGIN CERTIFICATE-----', 'trueish']
  expect(maskLines(lines, ['1', 'x', '', ' '])).toEqual(lines)
})

it('leaves no end of a secret that overlaps itself', () => {
  expect(maskLines(['ababababab'], ['abababab'])).toEqual(['<redacted>'])
})

it('is made in linear time', async () => {
  const linesOf = (count: number) => Array(count).fill('a'.repeat(1000))
  const mask = (lines: string[]) => maskLines(lines, ['a'.repeat(50), 'a'.repeat(10_000)])
  expect(await growthOf(10, linesOf, mask)).toBeLessThan(linear)
})

it.each([
  [['deployed', 'started', 'crashed'], true],
  [['deployed', 'redeployed'], false],
  [['deployed', 'rolled back'], false],
  [['deployment failed', 'deployed'], false],
  [['deployed', 'removed', 'deployed'], false],
  [['started'], false],
  [[], false],
])('a history of %j is of one revision: %s', (events, expected) => {
  expect(isOfOneRevision(events.map((event) => ({ event })))).toBe(expected)
})

describe('the bounds of what is found', () => {
  const mask = (text: string, ...secrets: string[]) => maskLines(text.split('\n'), secrets).join('\n')

  it.each([
    ['eight characters with white space between them', 'abcd  ef\ngh', 'abcdefgh', '<redacted>\n<redacted>'],
    ['seven only as they are', 'abcd efg abcdefg', 'abcdefg', 'abcd efg <redacted>'],
    ['four anywhere in a word', 'xwxyzx', 'wxyz', 'x<redacted>x'],
    ['three as a word only', 'xa-7 a-7x a-7 (a-7)', 'a-7', 'xa-7 a-7x <redacted> (<redacted>)'],
    ['a word at the beginning and at the end', 'a-7', 'a-7', '<redacted>'],
    ['one without the white space around it', 'xwxyzx', '\twxyz \n', 'x<redacted>x'],
    ['each line of one', 'one wxyz two lmno', ' wxyz \r\n lmno ', 'one <redacted> two <redacted>'],
  ])('%s', (_, text, secret, expected) => expect(mask(text, secret)).toBe(expected))

  it('a key is hidden from its beginning to the line of its end, once', () => {
    const [begin, end] = ['-----BEGIN EC PRIVATE KEY-----', '-----END EC PRIVATE KEY-----']
    expect(mask(`a\n${begin}\nx\n${end}\nb`)).toBe('a\n<redacted>\n<redacted>\n<redacted>\nb')
    expect(mask(`x\n${end}\nb`)).toBe('<redacted>\n<redacted>\nb')
    expect(mask(`a\n${begin}\n${begin}\nx\n${end} y\nb`)).toBe(
      'a\n<redacted>\n<redacted>\n<redacted>\n<redacted>\nb',
    )
    expect(mask(`a\n${begin}\nx`)).toBe('a\n<redacted>\n<redacted>')
    expect(mask(`${begin}\nx\n${end}\nb\n${begin}\ny\n${end}\nc`)).toBe(
      '<redacted>\n<redacted>\n<redacted>\nb\n<redacted>\n<redacted>\n<redacted>\nc',
    )
  })
})
