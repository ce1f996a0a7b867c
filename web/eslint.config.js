import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

// app -> features -> charts, components -> lib: what stands lower never imports what stands higher.
const room = (files, forbidden) => ({
    files,
    rules: {
        "no-restricted-imports": [
            "error",
            {
                patterns: [
                    { group: forbidden, message: "This folder stands below the one it imports." },
                    {
                        regex: "^(\\.\\./)+(docs|services|tests/(golden|support))/[^?]*$",
                        message: "Images are built without it. A test can read it with ?raw.",
                    },
                ],
            },
        ],
    },
});

export default tseslint.config(
    { ignores: ["dist", "node_modules", "src/api/generated"] },
    js.configs.recommended,
    ...tseslint.configs.strict,
    {
        files: ["src/**/*.{ts,tsx}"],
        ...jsxA11y.flatConfigs.recommended,
        languageOptions: { ...jsxA11y.flatConfigs.recommended.languageOptions, globals: globals.browser },
    },
    {
        files: ["src/**/*.{ts,tsx}"],
        plugins: { "react-hooks": reactHooks },
        rules: {
            "react-hooks/rules-of-hooks": "error",
            "react-hooks/exhaustive-deps": "error",
            "@typescript-eslint/consistent-type-imports": "error",
            "max-lines": ["error", { max: 450, skipBlankLines: true }],
            eqeqeq: ["error", "smart"],
        },
    },
    {
        files: ["tests/**/*.mjs", "bench/**/*.mjs", "scripts/**/*.mjs"],
        languageOptions: { globals: { ...globals.node, ...globals.browser } },
    },
    room(["src/lib/**"], ["**/app/*", "**/features/**", "**/charts/*", "**/components/*", "**/api/*"]),
    room(["src/charts/**", "src/components/**", "src/api/**", "src/machine/**"], ["**/app/*", "**/features/**"]),
    room(["src/features/**"], ["**/app/*"]),
);
