/** Calls as `--verbose` shows them: a line for a shell, without secrets. */
import { expect, it } from 'vitest'
import { traced } from './trace.ts'

const noted: string[] = []
const terminal = { note: (line: string) => void noted.push(line) } as never
const answer = {} as never
async function shown(url: string, init: object, socketPath?: string) {
  noted.length = 0
  const sent: unknown[] = []
  const fetch = async (...given: unknown[]) => {
    sent.push(given)
    return answer
  }
  const whole = { method: 'GET', headers: {}, ...init } as never
  expect(await traced(fetch as never, terminal, socketPath)(url, whole)).toBe(answer)
  expect(sent).toEqual([[url, whole]])
  return noted.join('|')
}

it('is a curl line', async () => {
  expect(await shown('http://host/x', {})).toBe('curl -sS -X GET http://host/x')
  const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":"it\'s\\n"}' }
  expect(await shown('http://host/x?a=b&c', json, '/run/a b.sock')).toBe(
    `curl -sS -X POST --unix-socket '/run/a b.sock' -H 'Content-Type: application/json' -d '{"a":"it'\\''s\\n"}' 'http://host/x?a=b&c'`,
  )
})

it('shows no secret, and stays on its line', async () => {
  const form = {
    headers: { Authorization: 'Basic abc', 'Content-Type': 'application/x-www-form-urlencoded', X: 'a\nb' },
    body: 'token=abc',
  }
  const line = await shown('https://me:abc@host/', form)
  expect(line).not.toContain('abc')
  expect(line).toContain('token=<token>')
  expect(line).toContain("-H 'X: a b'")
  expect(await shown('http://host/', { body: 'token=abc' })).toContain("-d '<9 characters>'")
})
