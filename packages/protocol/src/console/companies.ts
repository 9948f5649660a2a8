/** Company sign-in: the way to the provider of a company and back, and what owners decide about it. */
import * as z from 'zod'
import { company, companyRules } from '../methods/company-params.ts'
import { method, param } from '../methods/method.ts'
import { any, done, id, recent, recentOwner, text } from './params.ts'

const companyId = id('companyId', 'Company.')

/** What a person wants of the provider: a session, a fresh sign-in for the session there is, or a link to the own person. */
const companyPurposes = ['sign_in', 'confirm', 'link'] as const

const refusals = ['credentials_invalid', 'busy', 'conflict', 'company_unavailable'] as const

export const companiesMethods = {
  'company.begin': method({
    name: 'company.begin',
    summary:
      'Begins a sign-in with the provider of a company. The answer depends on the domain alone, and shows nothing about people.',
    params: [
      text('address', 254, 'E-mail address, of which the domain matters, or the domain itself.'),
      param(
        'purpose',
        z.enum(companyPurposes),
        `one of ${companyPurposes.join(', ')}`,
        'What the sign-in is for.',
      ),
    ],
    result: z.object({ url: z.string().describe('The next page of the browser') }),
    reasons: ['not_found', 'signed_out', 'step_up_required', ...refusals],
    access: { caller: 'anyone' },
  }),
  'company.finish': method({
    name: 'company.finish',
    summary: 'Ends such a sign-in with what the provider sent the browser back with. It can be used once.',
    params: [
      text('domain', 253, 'Domain in the address that the browser came back to.'),
      text('query', 8192, 'Query of that address.'),
    ],
    result: z.object({ purpose: z.enum(companyPurposes) }),
    reasons: ['signed_out', 'limit_exceeded', ...refusals],
    access: { caller: 'anyone' },
  }),
  'company.list': method({
    name: 'company.list',
    summary: 'Companies of the account. Only owners see the rules.',
    params: [],
    result: z.array(company.extend({ isLinked: z.boolean().describe('Whether the caller is linked') })),
    reasons: [],
    access: any,
  }),
  'company.update': method({
    name: 'company.update',
    summary: 'Sets which people of a company get which role, and whether they have to sign in with it.',
    params: [
      companyId,
      companyRules,
      param(
        'isRequired',
        z.boolean(),
        'true or false',
        'Whether people of the account who are no local owners have to use it.',
      ),
    ],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recentOwner,
  }),
  'company.unlink': method({
    name: 'company.unlink',
    summary: 'Ends the link of the caller to a company, and the sessions that came from it.',
    params: [companyId],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recent,
  }),
} as const
