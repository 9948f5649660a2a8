/** What only Node can do: Unix sockets. */
export { createNodeFetch } from './node-fetch.ts'
