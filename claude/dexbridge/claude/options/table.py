"""What becomes of every option: one table, by which options are refused and from which docs/claude-options.md is made.

Each row was looked at on Claude Code's CLI (`versions.TESTED_CLI`), those that change what a call does by trying them.
What is not in the table is refused when it is set: an option nobody looked at may take a call past its approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["FIELDS", "FLAGS", "PERMISSIONS", "SETTINGS", "Treatment"]

Kind = Literal["works", "ours", "refused"]


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of one option.

    Attributes:
        kind: `works`: used as it is, but for what `why` says; `ours`: set by every session, the application's value
            is refused, or used where `why` says so; `refused`: fails the segment before the model is asked.
        why: The reason or the condition, as a sentence; empty where there is nothing to say.
    """

    kind: Kind
    why: str = ""


def _works(why: str = "") -> Treatment:
    return Treatment("works", why)


def _ours(why: str) -> Treatment:
    return Treatment("ours", why)


def _refused(why: str) -> Treatment:
    return Treatment("refused", why)


def _each(names: str, treatment: Treatment) -> Mapping[str, Treatment]:
    return dict.fromkeys(names.split(), treatment)


_SESSIONS_OWN = _ours("Sessions set it themselves: refused when set.")
_INSIDE = "What it brings runs inside the CLI, at least once and without dexbridge's approval."

FIELDS: Mapping[str, Treatment] = {
    "tools": _works(f"Left out, it is all built-in tools of the CLI. {_INSIDE}"),
    "allowed_tools": _works("An entry that covers a tool whose calls must leave the CLI is refused."),
    "system_prompt": _works("Of any length; handed over as a file."),
    "mcp_servers": _works(
        f"As a dict; a path is refused, and so is a name that shares the prefix of the offered tools. {_INSIDE}"
    ),
    "strict_mcp_config": _ours("Always on: no server comes from a file."),
    "permission_mode": _works(
        "`bypassPermissions` and `plan` are refused: the first bypasses the locks, the second lets no tool run."
    ),
    "continue_conversation": _SESSIONS_OWN,
    "resume": _SESSIONS_OWN,
    "session_id": _SESSIONS_OWN,
    "max_turns": _works("Counted anew in each segment; a segment that reaches it fails its turn."),
    "max_budget_usd": _works("Counted anew in each segment; a segment that reaches it fails its turn."),
    "disallowed_tools": _works("An entry that covers an offered tool is refused."),
    "model": _works(),
    "fallback_model": _works(),
    "betas": _works(),
    "permission_prompt_tool_name": _refused("It would answer for the locks; use `can_use_tool`."),
    "cwd": _works("The same in every segment, or the model is told that it changed."),
    "cli_path": _works("Another version than the tested one is warned of."),
    "settings": _works("JSON or a path; its keys are looked at, see below."),
    "add_dirs": _works(),
    "env": _works("`CLAUDE_CODE_SIMPLE` and `CLAUDE_CODE_SAFE_MODE` are refused: they switch the locks off."),
    "extra_args": _works("Each flag is looked at, see below."),
    "max_buffer_size": _ours("At least 16 MiB; a larger value of the application is used."),
    "debug_stderr": _works("The SDK ignores it."),
    "stderr": _works(),
    "can_use_tool": _works(
        "For offered tools only its deny counts, asked with a copy before a call leaves or a read runs. What it allows "
        "of other tools runs inside the CLI."
    ),
    "hooks": _works(
        "For offered tools only a deny of PreToolUse counts, asked like `can_use_tool`; what PostToolUse and "
        "PostToolUseFailure return for a call that left is ignored: the model is told what was recorded."
    ),
    "user": _refused("The CLI must run as the Worker's user: its folder is for that user only."),
    "include_partial_messages": _ours("Always on: text is shown as it is written."),
    "include_hook_events": _works(),
    "forward_subagent_text": _works(),
    "verbatim_prompts": _ours("Always on: an end user's message must not read files or run commands of the CLI."),
    "fork_session": _SESSIONS_OWN,
    "resume_session_at": _SESSIONS_OWN,
    "resume_drops_turn": _SESSIONS_OWN,
    "agents": _works("A subagent's call of a tool that must leave is denied: it can be asked for by the agent only."),
    "setting_sources": _works(
        "The files of the chosen sources are held to the same rules as `settings`; left out, all of them are chosen."
    ),
    "skills": _works("With `setting_sources` left out, it chooses user and project."),
    "sandbox": _works(),
    "plugins": _works("One with hooks for offered tools is refused by the same rules as `settings`."),
    "max_thinking_tokens": _works(),
    "thinking": _works(),
    "effort": _works(),
    "output_format": _refused("A session's answer is text; let a tool take what must have a shape."),
    "enable_file_checkpointing": _works("Files the CLI changes are not recorded; nothing rewinds them."),
    "session_store": _ours("The transcript is committed with its segment: refused when set."),
    "session_store_flush": _ours("Always eager."),
    "load_timeout_ms": _works("Nothing is loaded through it."),
    "task_budget": _works(),
    "client_app": _works(),
}
"""Every field of `ClaudeAgentOptions`."""

_LOCKS_OFF = "It switches hooks off, and one of the two locks is a hook."
_OTHER_WAY_IN = "It opens another way into the conversation, past the session's messages."
_UNREAD = "It brings hooks or settings that cannot be read before the CLI starts."

SETTINGS: Mapping[str, Treatment] = {
    "permissions": _works("Its rules for offered tools are refused as below."),
    "hooks": _works(
        "PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest and PermissionDenied are "
        "refused when their matcher may cover an offered tool: they act after an approval, and could deny or rewrite."
    ),
    "env": _works("`CLAUDE_CODE_SIMPLE` and `CLAUDE_CODE_SAFE_MODE` are refused: they switch the locks off."),
    "disableAllHooks": _refused(_LOCKS_OFF),
    "allowManagedHooksOnly": _refused(_LOCKS_OFF),
    "agent": _refused("An agent in place of the main one may hide offered tools; use `system_prompt`."),
    "policyHelper": _refused(_UNREAD),
    "policyHelpers": _refused(_UNREAD),
    "enabledPlugins": _refused(f"{_UNREAD} Use `plugins`."),
    "prependPlugins": _refused(f"{_UNREAD} Use `plugins`."),
    "appendPlugins": _refused(f"{_UNREAD} Use `plugins`."),
    "extraKnownMarketplaces": _refused(f"{_UNREAD} Use `plugins`."),
    "additionalMarketplaces": _refused(f"{_UNREAD} Use `plugins`."),
    "channelsEnabled": _refused(_OTHER_WAY_IN),
    "allowedChannelPlugins": _refused(_OTHER_WAY_IN),
    "crossSessionInbound": _refused(_OTHER_WAY_IN),
    "remote": _refused(_OTHER_WAY_IN),
    "remoteControl": _refused(_OTHER_WAY_IN),
    "remoteControlAtStartup": _refused(_OTHER_WAY_IN),
    "remoteTools": _refused(_OTHER_WAY_IN),
    "autoContinueAtUsageLimit": _refused(_OTHER_WAY_IN),
    "teammateMode": _refused(_OTHER_WAY_IN),
    "autoUploadSessions": _refused("It would take the conversation out of the database."),
    "switchModelsOnFlag": _works(),
    **dict.fromkeys(
        (
            "allowedMcpServers",
            "deniedMcpServers",
            "allowManagedMcpServersOnly",
            "allowAllClaudeAiMcps",
            "strictPluginOnlyCustomization",
        ),
        _works(),
    ),
    **dict.fromkeys(
        ("managedMcpServers", "enableAllProjectMcpServers", "enabledMcpjsonServers"),
        _works(f"{_INSIDE} Servers of files are left out."),
    ),
    # One line each would hide the others. They choose models, keys, looks and limits, not what a call does.
    **_each(
        """
        $schema advisorModel alwaysThinkingEnabled apiKeyHelper attribution attributionProject attributionProjectPolicy
        autoCompactEnabled autoCompactOfferAnswer autoCompactRaisedForLoad autoCompactWindow autoDreamEnabled
        autoMemoryDirectory autoMemoryEnabled autoScrollEnabled autoUpdatesChannel availableModels availableModelsMatch
        awaySummaryEnabled awsAuthRefresh awsCredentialExport askUserQuestionTimeout additionalDirectoryConfigRoots
        allowClaudeInChromeWithManagedMcp allowManagedPermissionRulesOnly allowNestedModelAccessUnderForceLogin
        allowedHttpHookUrls allowedMarketplaces allowedProviders agentPushNotifEnabled bashEditDiffEnabled
        bashOutputMaxChars blockedMarketplaces breakReminder claudeMd claudeMdExcludes clawdFileProgressEnabled
        cleanupPeriodDays companyAnnouncements daemonColdStart defaultShell deniedModels
        desktopMcpServersListScope desktopSessionCleanupPeriodDays dialogExpiry disableAgentView disableArtifact
        disableAutoMode disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources
        disableDirectMcpSkills disableRemoteControl disableReplyCheck disableSideloadFlags
        disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows disabledMcpjsonServers
        doneMeansMerged downloadsMirrorUrl editorMode effortLevel emojiCompletionEnabled enableArtifact enableWorkflows
        enforceAvailableModels fallbackModel fastMode fastModePerSessionOptIn feedbackDrafts feedbackSurveyRate
        fileCheckpointingEnabled fileSuggestion footerLinksRegexes forceLoginGatewayUrl forceLoginMethod
        forceLoginOrgUUID forceRemoteSettingsRefresh gatewayInternalNetworks gcpAuthRefresh httpHookAllowedEnvVars
        idleCompaction includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled isolatePeerMachines
        keybindingFlavor language managedSourcesBehavior maxEffortLevel maxProseWidth minimumVersion model
        modelCatalogPublicKey modelCatalogUrl modelOverrides modelPicker modelPricing modelProposedGoals modelSettings
        otelHeadersHelper outputStyle parentSettingsBehavior plansDirectory pluginConfigs pluginSuggestionMarketplaces
        pluginTrustMessage precomputeArmTokens precomputeCompactionEnabled preferredNotifChannel prefersReducedMotion
        processWrapper promptCacheTtl promptSuggestionEnabled proxyAuthHelper prUrlTemplate quietHours
        remoteMessageReceipts requiredMaximumVersion requiredMinimumVersion respectGitignore respondToBashCommands
        responseComparisonEnabled sandbox showClearContextOnPlanAccept showMessageTimestamps showThinkingSummaries
        showTurnDuration skillListingBudgetFraction skillListingMaxDescChars skillOverrides
        skipDangerousModePermissionPrompt skipWebFetchPreflight skipWorkflowUsageWarning spellcheck spinnerTipsEnabled
        spinnerTipsOverride spinnerVerbs sshConfigs sshHostCommands statusLine strictKnownMarketplaces
        subagentPromptCacheTtl subagentStatusLine syncClaudeAiPlugins syncClaudeAiSkills syntaxHighlightingDisabled
        taskOutputMaxChars terminalProgressBarEnabled terminalTitleFromRename theme timeFormat timeZone
        todoFeatureEnabled totalTokensReminder totalTokensReminderAfterUserTurn totalTokensReminderBudget tui
        ultracode verbose viewMode vimInsertModeRemaps voice wheelScrollAccelerationEnabled
        workflowKeywordTriggerEnabled workflowSizeGuideline worktree wslInheritsWindowsSettings xaaIdp
        """,
        _works(),
    ),
}
"""Every key of `settings` and of settings files that the tested CLI knows."""

PERMISSIONS: Mapping[str, Treatment] = {
    "allow": _works("An entry that covers a tool whose calls must leave the CLI is refused."),
    "ask": _works("An entry that covers an offered tool is refused: it acts after the call was approved and made."),
    "deny": _works("An entry that covers an offered tool is refused: it hides the tool."),
    "defaultMode": _works("`bypassPermissions` and `plan` are refused."),
    **_each(
        """
        additionalDirectories autoMode blockFileToolReadsOutsideWorkingDirectories blockReadsExemptPaths
        blockReadsOutsideWorkingDirectories blockWritesOutsideWorkingDirectories denyInsteadOfPrompting disableAutoMode
        disableBypassPermissionsMode workingDirectoriesAsGiven workingDirectoriesExclude
        """,
        _works(),
    ),
}
"""Every key of `permissions` in them."""

_HAS_A_FIELD = _refused("`ClaudeAgentOptions` has a field for it.")

FLAGS: Mapping[str, Treatment] = {
    "allowed-tools": _works("As the field `allowed_tools`."),
    "append-system-prompt": _works("A text of more than 128 KiB is refused: put it into `system_prompt`."),
    "append-system-prompt-file": _works(),
    "bare": _refused(_LOCKS_OFF),
    "safe-mode": _refused(_LOCKS_OFF),
    "dangerously-skip-permissions": _refused("It would go around the locks."),
    "allow-dangerously-skip-permissions": _refused("It would go around the locks."),
    "agent": _refused("An agent in place of the main one may hide offered tools; use `system_prompt`."),
    "brief": _refused("The answer would be in a tool call, where nobody looks for it."),
    "no-session-persistence": _refused("The transcript would be lost."),
    "replay-user-messages": _refused("A result would be heard twice."),
    **dict.fromkeys(("mcp-config", "settings", "permission-mode", "permission-prompt-tool", "tools"), _HAS_A_FIELD),
    **_each(
        """
        add-dir agents betas disallowed-tools effort fallback-model forward-subagent-text include-hook-events
        include-partial-messages json-schema max-budget-usd max-thinking-tokens max-turns model plugin-dir
        setting-sources system-prompt system-prompt-file task-budget thinking thinking-display
        """,
        _HAS_A_FIELD,
    ),
    **_each(
        """
        cloud continue fork-session from-pr input-format output-format print resume resume-drops-turn resume-session-at
        session-id session-mirror teleport
        """,
        _refused("It would go around the session's own flags."),
    ),
    **dict.fromkeys(("background", "bg", "channels", "chrome", "ide", "remote-control"), _refused(_OTHER_WAY_IN)),
    **dict.fromkeys(("plugin-url",), _refused(f"{_UNREAD} Use `plugins`.")),
    **_each(
        """
        autocompact ax-screen-reader debug debug-file disable-slash-commands exclude-dynamic-system-prompt-sections
        name no-chrome permission-prompts prompt-suggestions restricted strict-mcp-config system-prompt-snapshot
        verbose
        """,
        _works(),
    ),
}
"""Flags of the CLI in `extra_args`; written with or without leading dashes, `allowedTools` like `allowed-tools`."""
