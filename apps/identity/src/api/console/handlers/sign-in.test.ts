/** Sign-ins with a secret: where each try counts, and what a failure shows. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import { PasswordsBusy } from '../../../registry/credentials/passwords.ts'
import { signInHandlers } from './sign-in.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof signInHandlers>
let tries: Record<'address' | 'person' | 'strangers' | 'browser', string[]>
let exhausted: string
beforeEach(async () => {
  opened = await openConsoleStore()
  tries = { address: [], person: [], strangers: [], browser: [] }
  exhausted = ''
  handlers = handlersWith()
})
afterEach(() => opened.close())

const limiter = (name: keyof typeof tries) => ({
  async take(key: string) {
    if (exhausted === name) return 9
    tries[name].push(key)
    return 0
  },
  giveBack: async (key: string) => void tries[name].push(`back ${key}`),
})
const handlersWith = (
  verify = async (given: string, stored: string) => `${given} of ${stored}` === 'right of hash',
) =>
  signInHandlers({
    ...opened,
    passwords: { verify } as never,
    passkeys: {
      beginSignIn: async () => 'options',
      finishSignIn: async (challenge: string) => challenge,
    } as never,
    recoveryCodes: {
      use: async (personId: string, code: string) => `${personId} ${code}` === 'ada right',
    } as never,
    tries: {
      ...{ address: limiter('address'), person: limiter('person') },
      ...{ strangers: limiter('strangers'), browser: limiter('browser') },
    },
  })
const withPassword = () => opened.people.setPassword('ada', 'hash', '')
const signIn = (password: string, email = 'ada@example.com', context = contextOf()) =>
  handlers['sign_in.password']({ email, password }, undefined, context)
const wrong = { reason: 'credentials_invalid', message: 'wrong e-mail address, password or recovery code' }

it('the right password begins a session, and costs no try', async () => {
  await withPassword()
  const context = contextOf()
  expect(await signIn('right', undefined, context)).toEqual({ done: true })
  expect(await opened.sessions.find(context.newSession!, 'key')).toMatchObject({
    session: { personId: 'ada' },
  })
  const [network, email] = ['192.0.2.1', 'ada@example.com']
  expect(tries).toEqual({
    address: [network, `back ${network}`],
    person: [`${email} ${network}`, `back ${email} ${network}`],
    strangers: [email, `back ${email}`],
    browser: [],
  })
  expect(opened.audited()).toEqual(['ada session.create ok password'])
})

it('a browser that the person used before has a share of its own', async () => {
  await withPassword()
  await signIn('right')
  for (const name of ['address', 'person', 'strangers'] as const) tries[name].length = 0
  await expect(signIn('no')).rejects.toMatchObject(wrong)
  expect(tries).toMatchObject({ address: [], person: [], strangers: [], browser: ['ada key'] })
})

it('a wrong secret is the same answer for each address, and recorded for the account of the person', async () => {
  await withPassword()
  await expect(signIn('no')).rejects.toMatchObject(wrong)
  await expect(signIn('no', 'new@example.com')).rejects.toMatchObject(wrong)
  await expect(
    handlers['sign_in.recovery']({ email: 'ada@example.com', code: 'no' }, undefined, contextOf()),
  ).rejects.toMatchObject(wrong)
  expect(opened.audited()).toEqual(Array(2).fill('ada session.create refused wrong secret'))
  expect(opened.audited('')).toEqual(['new session.create refused wrong secret'])
  expect(tries.strangers).toEqual(['ada@example.com', 'new@example.com', 'ada@example.com'])
})

it('no person signs in without an account, whatever the secret', async () => {
  handlers = handlersWith(async () => true)
  await expect(signIn('right', 'new@example.com')).rejects.toMatchObject(wrong)
})

it('a recovery code begins a session', async () => {
  const right = { email: 'ada@example.com', code: 'right' }
  expect(await handlers['sign_in.recovery'](right, undefined, contextOf())).toEqual({ done: true })
  expect(opened.audited()).toEqual(['ada session.create ok recovery code'])
})

it.each(['address', 'person', 'strangers'] as const)('too many tries of the same %s wait', async (name) => {
  await withPassword()
  exhausted = name
  const context = contextOf()
  await expect(signIn('right', undefined, context)).rejects.toMatchObject({ reason: 'busy' })
  expect(context.retryAfter).toBe(9)
  // What is refused for an address uses up nothing of a person.
  if (name === 'address') expect([tries.person, tries.strangers]).toEqual([[], []])
})

it('too many checks at the same time are refused for a moment, and other failures are not hidden', async () => {
  await withPassword()
  handlers = handlersWith(async () => {
    throw new PasswordsBusy('many')
  })
  const context = contextOf()
  await expect(signIn('right', undefined, context)).rejects.toMatchObject({ reason: 'busy' })
  expect(context.retryAfter).toBe(5)
  handlers = handlersWith(async () => {
    throw new Error('broken')
  })
  await expect(signIn('right')).rejects.toThrow('broken')
})

it('a passkey begins a session of its person', async () => {
  expect(await handlers['sign_in.passkey.begin']()).toBe('options')
  const finish = (personId: string, context = contextOf()) =>
    handlers['sign_in.passkey.finish']({ challenge: personId, response: {} as never }, undefined, context)
  expect(await finish('ada')).toEqual({ done: true })
  expect(opened.audited()).toEqual(['ada session.create ok passkey'])
  await expect(finish('gone')).rejects.toMatchObject(wrong)
})
