/** Who answers for the packages: the field Maintainer of a Debian package, and the author of the bill of materials. */

export interface Maintainer {
  readonly name: string
  readonly email: string
}

/**
 * @param text as in Debian and npm: `Jane Doe <jane@example.com>`
 * @throws Error if it has another form; a line break in it would add fields to a package
 */
export function readMaintainer(text: string | undefined): Maintainer {
  const [, name, email] =
    /^([^<>"\p{Cc}]{1,80}?) <([\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)>$/u.exec(text ?? '') ?? []
  if (name !== undefined && email !== undefined) return { name, email }
  throw new Error(
    `the maintainer is ${JSON.stringify(text)}; expected a name and an address, such as "Jane Doe <jane@example.com>", in "author" of package.json or after --maintainer`,
  )
}

export const writeMaintainer = ({ name, email }: Maintainer): string => `${name} <${email}>`

/** Names that no mail server has (RFC 2606 and RFC 6761). */
const reserved = /(?:^|[.@])(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)$/i

/** Whether the address cannot exist: such a release may be built and tested, but not signed. */
export const isPlaceholder = (email: string): boolean => reserved.test(email)
