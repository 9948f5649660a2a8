/** Content types that carry text, read in time linear in the header: any caller sends one. */

const space = (code: number): boolean => code === 0x20 || code === 0x09

/**
 * Whether a Content-Type header names a type, in UTF-8 if it names a character set (RFC 9110 § 8.3).
 *
 * @param header as it came; undefined if the request has no such header
 * @param type in lower case, such as `application/json`
 */
export function isUtf8Type(header: string | undefined, type: string): boolean {
  if (header === type) return true
  if (header === undefined || header.slice(0, type.length).toLowerCase() !== type) return false
  let at = type.length
  let hasCharset = false
  for (;;) {
    while (space(header.charCodeAt(at))) at++
    if (at === header.length) return true
    if (header[at] !== ';') return false
    const next = header.indexOf(';', at + 1)
    const end = next < 0 ? header.length : next
    const parameter = header
      .slice(at + 1, end)
      .trim()
      .toLowerCase()
    if (parameter !== '') {
      if (hasCharset || !isUtf8Parameter(parameter)) return false
      hasCharset = true
    }
    at = end
  }
}

function isUtf8Parameter(parameter: string): boolean {
  const equals = parameter.indexOf('=')
  if (parameter.slice(0, equals).trimEnd() !== 'charset') return false
  const value = parameter.slice(equals + 1).trimStart()
  return value === 'utf-8' || value === 'utf8' || value === '"utf-8"' || value === '"utf8"'
}
