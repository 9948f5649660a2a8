/** Sessions and sign-in methods: what people see and change about themselves. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { any, done, id, recent, text } from './params.ts'
import * as records from './records.ts'

const email = param(
  'email',
  z.email().max(254).toLowerCase(),
  'an e-mail address',
  'E-mail address of the person.',
)
const password = param(
  'password',
  z.string().max(1024),
  'a text of at most 1024 characters',
  'Password; a refusal names the rules.',
)
const link = param(
  'link',
  z.string().min(20).max(100),
  'the secret of a link',
  'What follows the # of the link.',
)
const credential = param(
  'response',
  z.record(z.string(), z.unknown()),
  'the response of the browser to the challenge',
  'The credential, as WebAuthn in JSON has it.',
)
const options = z.object({ challenge: z.string(), options: z.record(z.string(), z.unknown()) })
const challenge = id('challenge', 'The challenge that was given.')
export const personMethods = {
  'session.get': method({
    name: 'session.get',
    summary: 'The person who is signed in; null if no person is signed in.',
    params: [],
    result: z.object({
      viewer: records.viewer.nullable(),
      /** Whether the installation has no owner yet, so that no person can sign in. */
      needsOwner: z.boolean(),
      identityUrl: z.string(),
      /** Where this service finds locations. Devices may need another address for it. */
      discoveryUrl: z.string(),
      /** Of this service. */
      version: z.string(),
    }),
    reasons: [],
    access: { caller: 'anyone' },
  }),
  'session.end': method({
    name: 'session.end',
    summary: 'Signs out.',
    params: [],
    result: done,
    reasons: [],
    access: { caller: 'anyone' },
  }),
  'session.list': method({
    name: 'session.list',
    summary: 'Where the person is signed in.',
    params: [],
    result: z.array(records.session),
    reasons: [],
    access: any,
  }),
  'session.revoke': method({
    name: 'session.revoke',
    summary: 'Signs a session out.',
    params: [id('sessionId', 'Session.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'session.switch': method({
    name: 'session.switch',
    summary: 'Switches to another account of the person.',
    params: [id('accountId', 'Account.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'sign_in.passkey.begin': method({
    name: 'sign_in.passkey.begin',
    summary: 'A challenge for any passkey of this service.',
    params: [],
    result: options,
    reasons: [],
    access: { caller: 'anyone' },
  }),
  'sign_in.passkey.finish': method({
    name: 'sign_in.passkey.finish',
    summary: 'Signs in with the passkey that answered the challenge.',
    params: [challenge, credential],
    result: done,
    reasons: ['credentials_invalid'],
    access: { caller: 'anyone' },
  }),
  'sign_in.password': method({
    name: 'sign_in.password',
    summary: 'Signs in with a password. Unknown addresses are answered like wrong passwords, and as slowly.',
    params: [email, password],
    result: done,
    reasons: ['credentials_invalid', 'busy'],
    access: { caller: 'anyone' },
  }),
  'sign_in.recovery': method({
    name: 'sign_in.recovery',
    summary: 'Signs in with a recovery code, which is used up.',
    params: [email, text('code', 64, 'Recovery code.')],
    result: done,
    reasons: ['credentials_invalid', 'busy'],
    access: { caller: 'anyone' },
  }),
  'link.look': method({
    name: 'link.look',
    summary: 'What a link is for. Does not use it up.',
    params: [link],
    result: z.object({
      purpose: z.enum(['setup', 'invitation', 'reset']),
      /** E-mail address that the link is for; null if the person chooses one. */
      email: z.string().nullable(),
      accountName: z.string().nullable(),
    }),
    reasons: ['credentials_invalid'],
    access: { caller: 'anyone' },
  }),
  'link.use': method({
    name: 'link.use',
    summary:
      'Uses a link, and signs in the person that it is for: the first owner, an invited person, or a person who is locked out.',
    params: [link, email],
    result: done,
    reasons: ['credentials_invalid', 'conflict', 'limit_exceeded'],
    access: { caller: 'anyone' },
  }),
  'passkey.begin': method({
    name: 'passkey.begin',
    summary: 'A challenge for a new passkey of the person.',
    params: [],
    result: options,
    reasons: [],
    access: recent,
  }),
  'passkey.finish': method({
    name: 'passkey.finish',
    summary: 'Adds the passkey that answered the challenge.',
    params: [
      challenge,
      credential,
      text('name', 60, 'Name of the passkey, by which the person recognizes it.'),
    ],
    result: done,
    reasons: ['credentials_invalid', 'already_exists', 'limit_exceeded'],
    access: recent,
  }),
  'passkey.list': method({
    name: 'passkey.list',
    summary: 'Passkeys of the person.',
    params: [],
    result: z.array(records.passkey),
    reasons: [],
    access: any,
  }),
  'passkey.remove': method({
    name: 'passkey.remove',
    summary: 'Removes a passkey. The last sign-in method can’t be removed.',
    params: [id('credentialId', 'Passkey.')],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recent,
  }),
  'password.set': method({
    name: 'password.set',
    summary: 'Sets the password of the person, and signs out every other session.',
    params: [password],
    result: done,
    reasons: [],
    access: recent,
  }),
  'recovery.create': method({
    name: 'recovery.create',
    summary: 'Creates ten recovery codes, shown once. Earlier codes stop working.',
    params: [],
    result: z.object({ codes: z.array(z.string()) }),
    reasons: [],
    access: recent,
  }),
} as const
