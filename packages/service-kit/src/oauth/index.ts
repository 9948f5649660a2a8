/** What token endpoints share: their forms, and their errors as answers. It knows no grant. */
export { describeError } from '../http-app/oauth-answer.ts'
export { parseForm, quote, required } from './form.ts'
