/** Whether a client reads trailers (RFC 9110 § 6.5.1). @param te the header of its request */
export const acceptsTrailers = (te: string | string[] | undefined): boolean =>
  te
    ?.toString()
    .split(',')
    .some((each) => each.trim().toLowerCase() === 'trailers') ?? false
