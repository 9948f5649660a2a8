/** Calls as `--verbose` shows them: they end up in scroll-back buffers and bug reports, so nothing secret may be in them. */
import { methods } from '@selvedge/protocol'
import { adminMethods } from '@selvedge/protocol/admin'
import { isSecretName, redactText } from '@selvedge/protocol/redaction'

/** The value of a header. */
export const redactHeader = (name: string, value: string): string =>
  isSecretName(name) && !/^(?:Bearer|DPoP|Session|Basic) /i.test(value) ? '<redacted>' : redactText(value)

/** The body of a request: JSON or a form; anything else is not shown at all. */
export function redactBody(body: string, contentType: string): string {
  if (contentType.startsWith('application/x-www-form-urlencoded')) return redactForm(body)
  try {
    return JSON.stringify(redactValue(namedParams(JSON.parse(body))))
  } catch {
    return `<${body.length} characters>`
  }
}

function redactForm(body: string): string {
  const fields = [...new URLSearchParams(body)].map(([name, value]) => {
    const shown = isSecretName(name) ? `<${name}>` : encodeURIComponent(redactText(value))
    return `${encodeURIComponent(name)}=${shown}`
  })
  return fields.join('&')
}

function redactValue(value: unknown, name = ''): unknown {
  if (isSecretName(name) && value !== null && value !== undefined) return `<${name}>`
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map((each) => redactValue(each))
  if (typeof value !== 'object' || value === null) return value
  // Settings of the runtime are no secrets; any other variable of a container may be one.
  const redactMember = ([inner, each]: [string, unknown]) =>
    name === 'env' && !inner.startsWith('MCM.') ? [inner, '<value>'] : [inner, redactValue(each, inner)]
  return Object.fromEntries(Object.entries(value).map(redactMember))
}

/** A call with positional parameters: each text is shown only where its declared name is not that of a secret. */
function namedParams(call: unknown): unknown {
  const { method, params } = Object(call) as { method?: unknown; params?: unknown }
  if (!Array.isArray(params)) return call
  const all: Readonly<Record<string, { readonly params: readonly { readonly name: string }[] }>> = {
    ...methods,
    ...adminMethods,
  }
  const declared = typeof method === 'string' && Object.hasOwn(all, method) ? all[method]!.params : []
  const shown = params.map((value, at) => {
    const name = declared[at]?.name
    if (name === undefined) return typeof value === 'number' || value === '' ? value : '<parameter>'
    return redactValue(value, name)
  })
  return { ...(call as object), params: shown }
}
