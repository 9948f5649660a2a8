/** The OpenRPC 1.3.2 document, made from the method table. Source: https://spec.open-rpc.org/ */
import * as z from 'zod'
import { catalogue, messages, type Reason } from './errors/catalogue.ts'
import { detailsOf, type Method } from './methods/method.ts'

/** Reasons that any call may fail with. */
export const commonReasons: readonly Reason[] = [
  'invalid_request',
  'invalid_params',
  'internal_error',
  'storage_failed',
  'limit_exceeded',
]

const tokenReasons: readonly Reason[] = [
  'token_missing',
  'token_malformed',
  'token_expired',
  'token_not_yet_valid',
  'token_untrusted',
  'token_revoked',
  'wrong_node',
]

/** Every reason that a method can fail with: its own, and those that follow from its access. */
export function reasonsOf({ reasons, access, fromServices }: Method): readonly Reason[] {
  const all: Reason[] = [...reasons]
  if (fromServices !== 'yes') all.push('service_not_allowed')
  if (access.caller !== 'anyone' || !access.withoutApiKey) all.push('api_key_invalid')
  if (access.caller === 'token') {
    all.push(...tokenReasons)
    if (access.scope) all.push('insufficient_scope')
    if (access.token === 'associated') all.push('not_associated', 'wrong_account')
  }
  return [...all, ...commonReasons]
}

const schemaOf = (schema: z.ZodType) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' })
  return rest
}
/**
 * @example
 * ```ts
 * import { methods, openRpcDocument } from '@selvedge/protocol'
 *
 * const document = openRpcDocument(Object.values(methods), { title: 'Runtime', version: '1', url: 'http://localhost' })
 * console.log(JSON.stringify(document).length)
 * ```
 */
export function openRpcDocument(
  methods: readonly Method[],
  info: { title: string; version: string; url: string },
): object {
  return {
    openrpc: '1.3.2',
    info: { title: info.title, version: info.version, license: { name: 'Apache-2.0' } },
    servers: [{ name: 'local', url: info.url }],
    methods: methods.map((each) => ({
      name: each.name,
      summary: each.summary,
      ...(detailsOf(each) && { description: detailsOf(each) }),
      paramStructure: 'either',
      params: each.params.map((param) => ({
        name: param.name,
        description: `${param.description} Expected: ${param.expected}.`,
        required: !param.schema.safeParse(undefined).success,
        schema: schemaOf(param.schema),
      })),
      result: { name: `${each.name}Result`, schema: schemaOf(each.result) },
      errors: errorsOf(each),
      'x-access': each.access,
      'x-from-services': each.fromServices ?? 'no',
    })),
  }
}

/** One entry a reason; OpenRPC has no place for reasons of its own, so they stand in `data`. */
function errorsOf(method: Method): object[] {
  return reasonsOf(method).map((reason) => {
    const { code, retryable, hint } = catalogue[reason]
    return { code, message: messages[code], data: { reason, retryable, hint } }
  })
}
