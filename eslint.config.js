import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  {
    ignores: [
      'dist',
      'demo/dist',
      'node_modules',
      'e2e/bench/node_modules',
      'scripts/**',
      'eslint.config.js',
      '.stryker-tmp',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    files: ['**/*.tsx', 'src/react/**'],
    ignores: ['**/*.test.{ts,tsx}'], // components of tests reach out of themselves on purpose
    ...reactHooks.configs.flat.recommended,
  },
  {
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './tsconfig.node.json'], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-object-type': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    ignores: ['src/**/*.test.{ts,tsx}', 'src/**/*.bench.ts', 'src/**/*.test-d.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "ThrowStatement > NewExpression[callee.name='Error']",
          message: 'Throw a typed error with a code.',
        },
      ],
    },
  },
)
