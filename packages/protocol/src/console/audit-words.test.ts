import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { auditWords } from './audit-words.ts'
import type { AuditRecord } from './records.ts'

const entry = (action: string, detail = '', outcome: AuditRecord['outcome'] = 'ok'): AuditRecord => ({
  ...{ id: '1', at: '2026-01-01T00:00:00Z', actor: 'ada@example.com', subject: '', address: '' },
  ...{ action, detail, outcome },
})

it('states what was done, and a refusal as one', () => {
  expect(auditWords(entry('device_request.decide', 'CLI from ::1'))).toMatchObject({
    verb: 'approved the sign-in of a terminal:',
    target: 'CLI from ::1',
  })
  expect(auditWords(entry('device_request.decide', '', 'refused')).verb).toMatch(/^denied/)
})

it('separates the device from the token with which it joined', () => {
  expect(auditWords(entry('device.join', 'van-1, with a token of project p'))).toMatchObject({
    target: 'van-1',
    about: 'with a token of project p',
  })
})

it('shows each change before and after', () => {
  expect(auditWords(entry('member.set_role', 'bob@example.com: member → owner')).changes).toEqual([
    ['bob@example.com', 'member', 'owner'],
  ])
  expect(auditWords(entry('project.update', 'name: a → b; tokens: 60 → 90')).changes).toEqual([
    ['name', 'a', 'b'],
    ['tokens', '60', '90'],
  ])
})

it('shows the words of an action that it does not know', () => {
  expect(auditWords(entry('robot.feed')).verb).toBe('robot feed')
  expect(auditWords(entry('constructor')).verb).toBe('constructor')
})

it('has words for every action that the identity service records in an account', () => {
  const identity = join(import.meta.dirname, '../../../../apps/identity/src')
  const recorded = globSync('**/*.ts', { cwd: identity })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => {
      const source = readFileSync(join(identity, path), 'utf8')
      const calls =
        /(?:auditOf|note|noteAll|change)\((?:[^()']|\([^()]*\))*?'([a-z_]+\.[a-z_]+)'|action: '([a-z_]+\.[a-z_]+)'/g
      return [...source.matchAll(calls)].map(([, called, named]) => called ?? named!)
    })
  expect(recorded.length).toBeGreaterThan(40)
  const unknown = recorded.filter(
    (action) => auditWords(entry(action)).verb === action.replaceAll(/[._]/g, ' '),
  )
  // Only the operator sees it.
  expect(unknown.filter((action) => action !== 'keys.rotate')).toEqual([])
})
