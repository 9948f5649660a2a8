export { quote } from '@selvedge/service-kit/oauth'
