export { parseForm, required } from '@selvedge/service-kit/oauth'
