/** The built page's content security policy, as a Vite plugin. The development server needs inline code: no policy there. */
import type { Plugin } from 'vite'
import { workerPolicy } from './trusted-worker-policy.ts'

const directives = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data: blob:",
  'font-src': "'none'",
  // A person may name any provider; plain http only on this very computer.
  'connect-src': "'self' https: http://localhost:* http://127.0.0.1:*",
  'worker-src': "'self'",
  'manifest-src': "'self'",
  'object-src': "'none'",
  'frame-src': "'none'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'require-trusted-types-for': "'script'",
  'trusted-types': workerPolicy,
}

export const contentSecurityPolicy: string = Object.entries(directives)
  .map(([name, sources]) => `${name} ${sources}`)
  .join('; ')

/** Puts the policy before everything else in the head: it holds for what comes after it. */
export function csp(): Plugin {
  return {
    name: 'palimpsest-csp',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: () => [
        {
          tag: 'meta',
          attrs: { 'http-equiv': 'Content-Security-Policy', content: contentSecurityPolicy },
          injectTo: 'head-prepend',
        },
      ],
    },
  }
}
