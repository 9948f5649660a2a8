import { RpcError } from '@selvedge/protocol'
import type { Limiter } from '@selvedge/service-kit/http'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { Audit } from '../../audit/audit.ts'
import type { People, Person } from '../../registry/people.ts'
import type { ConsoleContext, ConsoleHandlers } from '../context.ts'
import type { Enter } from '../enter.ts'
import type { Passkeys } from '../passkeys.ts'
import { type Passwords, PasswordsBusy } from '../passwords.ts'
import type { RecoveryCodes } from '../recovery-codes.ts'

export interface SignInParts {
  readonly people: People
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  readonly audit: Audit
  readonly enter: Enter
  /** Failed tries of one e-mail address, and of one address of the network. */
  readonly tries: { readonly person: Limiter; readonly address: Limiter }
}

const wrong = () => new RpcError('credentials_invalid', 'the e-mail address or the secret is wrong')
/** The sign-in methods. Neither an answer nor its time shows whether an address is known. */
export function signInHandlers(parts: SignInParts) {
  const { people, passkeys, passwords, recoveryCodes, audit, tries, enter } = parts

  /** One attempt with a secret: each failure delays the next one for the same person, and from the same address. */
  async function attempt(
    email: string,
    context: ConsoleContext,
    check: (person: Person | undefined) => Promise<boolean>,
  ) {
    const keys = [
      [tries.person, email],
      [tries.address, limitKeyOf(context.address)],
    ] as const
    const waits = keys.map(([limiter, key]) => limiter.take(key))
    const wait = Math.max(...waits)
    if (wait > 0) {
      context.retryAfter = wait
      throw new RpcError('busy', `too many tries; wait ${wait} seconds`)
    }
    const person = await people.byEmail(email)
    const isRight = await check(person).catch((cause) => {
      if (!(cause instanceof PasswordsBusy)) throw cause
      context.retryAfter = 5
      throw new RpcError('busy', 'too many people sign in at this moment; wait 5 seconds')
    })
    if (person && isRight) {
      for (const [limiter, key] of keys) limiter.giveBack(key)
      return person
    }
    const [membership] = person ? await people.memberships(person.personId) : []
    await audit.record({
      accountId: membership?.accountId ?? '',
      actor: email,
      action: 'session.create',
      address: context.address,
      outcome: 'refused',
      detail: 'wrong secret',
    })
    throw wrong()
  }

  return {
    'sign_in.passkey.begin': () => passkeys.beginSignIn(),
    'sign_in.passkey.finish': async ({ challenge, response }, _caller, context) => {
      const person = await people.byId(await passkeys.finishSignIn(challenge, response))
      if (!person) throw wrong()
      return enter(person, 'passkey', context)
    },
    'sign_in.password': async ({ email, password }, _caller, context) => {
      const check = (person: Person | undefined) => passwords.verify(password, person?.password ?? '')
      return enter(await attempt(email, context, check), 'password', context)
    },
    'sign_in.recovery': async ({ email, code }, _caller, context) => {
      const check = (person: Person | undefined) => recoveryCodes.use(person?.personId ?? '', code)
      return enter(await attempt(email, context, check), 'recovery code', context)
    },
  } satisfies ConsoleHandlers
}
