/** A README leaves the repository with its package: a link to a file of the repository would lead nowhere. */

/** @returns the text with relative links replaced by their words; links to other sites and to headings stay */
export const withoutRepositoryLinks = (text: string): string =>
  text.replace(/\[([^\]\n]{1,200})\]\((?!https?:|#)[^)\n]{1,300}\)/g, '$1')
