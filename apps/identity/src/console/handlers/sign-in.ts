import { RpcError } from '@selvedge/protocol'
import type { Limiter } from '@selvedge/service-kit/http'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { Audit } from '../../audit/audit.ts'
import type { Accounts } from '../../registry/accounts.ts'
import type { OneTime, Purpose } from '../../registry/one-time.ts'
import type { People, Person, Role } from '../../registry/people.ts'
import { type ConsoleContext, type ConsoleHandlers, done } from '../context.ts'
import type { Passkeys } from '../passkeys.ts'
import { type Passwords, PasswordsBusy } from '../passwords.ts'
import type { RecoveryCodes } from '../recovery-codes.ts'
import type { Sessions } from '../sessions.ts'

export interface SignInParts {
  readonly people: People
  readonly accounts: Accounts
  readonly oneTime: OneTime
  readonly sessions: Sessions
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  readonly audit: Audit
  /** Failed tries of one e-mail address, and of one address of the network. */
  readonly tries: { readonly person: Limiter; readonly address: Limiter }
}

const links: readonly Purpose[] = ['setup', 'invitation', 'reset']

const wrong = () =>
  new RpcError('credentials_invalid', 'this e-mail address and this secret do not belong together')
const badLink = () =>
  new RpcError('credentials_invalid', 'the link is unknown, used or ended', {
    hint: 'Ask whoever gave it to you for a new one. The first owner finds a new one in the output of each start.',
  })

/** The ways in. Nothing here tells whether an address is known, neither by its answer nor by its time. */
export function signInHandlers(parts: SignInParts) {
  const { people, accounts, oneTime, sessions, passkeys, passwords, recoveryCodes, audit, tries } = parts

  /** Begins a session; one that the browser had ends. */
  async function enter(
    person: Person,
    method: string,
    context: ConsoleContext,
    accountId?: string,
  ): Promise<typeof done> {
    const memberships = await people.memberships(person.personId)
    const before = context.viewer?.person.personId === person.personId ? context.viewer : undefined
    const account =
      memberships.find((each) => each.accountId === (accountId ?? before?.membership.accountId)) ??
      memberships[0]
    if (!account)
      throw new RpcError('credentials_invalid', 'you are a member of no account any more', {
        hint: 'Ask an owner for an invitation.',
      })
    const { personId, email } = person
    const { address, userAgent } = context
    if (context.viewer) await sessions.end(context.viewer.person.personId, context.viewer.session.sessionId)
    context.newSession = await sessions.create({
      personId,
      accountId: account.accountId,
      method,
      address,
      userAgent,
    })
    await audit.record({
      accountId: account.accountId,
      actor: email,
      action: 'session.create',
      address,
      outcome: 'ok',
      detail: method,
    })
    return done
  }

  /** One try of a secret: ever more slowly for the same person, and from the same address. */
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

  /** Who a link lets in, and to which account. */
  async function admitByLink(
    purpose: Purpose,
    payload: Record<string, string>,
    email: string,
    context: ConsoleContext,
  ) {
    if (purpose === 'reset') return { person: (await people.byEmail(payload.email!))!, accountId: undefined }
    const known = await people.byEmail(email)
    if (purpose === 'setup') {
      const person = known ?? (await people.ensure(email))
      if ((await people.memberships(person.personId)).length === 0) await accounts.create(email)
      return { person, accountId: undefined }
    }
    const { accountId, role } = payload as { accountId: string; role: Role }
    const person = known ?? (await people.ensure(email))
    await people.join(accountId, person.personId, role)
    await audit.record({
      accountId,
      actor: email,
      action: 'member.join',
      address: context.address,
      outcome: 'ok',
      detail: role,
    })
    return { person, accountId }
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
    'link.look': async ({ link }) => {
      const found = await oneTime.look(link)
      if (!found || !links.includes(found.purpose)) throw badLink()
      const { purpose, payload } = found
      const account = payload.accountId === undefined ? undefined : await accounts.byId(payload.accountId)
      return { purpose, email: payload.email ?? null, accountName: account?.email ?? null }
    },
    'link.use': async ({ link, email }, _caller, context) => {
      const found = await oneTime.look(link)
      if (!found || !links.includes(found.purpose)) throw badLink()
      // A link that lets anybody in says nothing of who he is: an address that is known must be signed in already.
      if (
        found.purpose === 'invitation' &&
        (await people.byEmail(email)) &&
        context.viewer?.person.email !== email
      )
        throw new RpcError('conflict', 'this e-mail address has a sign-in already', {
          hint: 'Sign in with it first, then open the link again.',
        })
      const payload = await oneTime.use(found.purpose, link)
      if (!payload) throw badLink()
      const { person, accountId } = await admitByLink(found.purpose, payload, email, context)
      return enter(person, 'link', context, accountId)
    },
  } satisfies ConsoleHandlers
}
