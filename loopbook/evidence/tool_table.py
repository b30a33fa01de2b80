"""What each host's tools are for, by name: data.

The kinds are those of ``loopbook.run.ToolKind``; four need saying. ``fetch`` looks outside
(the web), ``search`` looks into the project; only the first is a source. ``output`` reads what
a background task has said so far. ``wait`` ends a run on purpose until something else happens.
A tool that stands in no table is ``other``: it stays in the run's calls and makes no event.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopbook.run import ToolKind

#: Claude Code, from 1.0.24 on; measured in session files and hook payloads.
CLAUDE_CODE: Mapping[str, ToolKind] = {
    "Bash": "command",
    "PowerShell": "command",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Write": "write",
    "Read": "read",
    "NotebookRead": "read",
    "Glob": "search",
    "Grep": "search",
    "LS": "search",
    "LSP": "search",
    "ToolSearch": "search",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "AskUserQuestion": "question",
    "ExitPlanMode": "plan",
    "exit_plan_mode": "plan",
    "TodoWrite": "todos",
    "TaskCreate": "todos",
    "TaskUpdate": "todos",
    "TaskList": "todos",
    "TaskGet": "todos",
    "Task": "agent",
    "Agent": "agent",
    "TaskOutput": "output",
    "BashOutput": "output",
    "AgentOutputTool": "output",
    "Monitor": "wait",
    "Sleep": "wait",
    "ScheduleWakeup": "wait",
    "SendMessage": "message",
}

#: Codex; ``exec_command`` and ``apply_patch`` measured, the others from its documentation.
CODEX: Mapping[str, ToolKind] = {
    "Bash": "command",  # what its hooks call every shell tool
    "shell": "command",
    "local_shell": "command",
    "shell_command": "command",
    "exec_command": "command",
    "write_stdin": "output",
    "apply_patch": "edit",
    "read_file": "read",
    "view_image": "read",
    "list_dir": "search",
    "grep_files": "search",
    "web_search": "fetch",
    "web_search_call": "fetch",
    "request_user_input": "question",
    "update_plan": "todos",
    "spawn_agent": "agent",
    "wait": "wait",
    "wait_agent": "wait",
    "send_input": "message",
}

#: pi: its own tools (measured), and the waiting and subagent tools of its known extensions.
PI: Mapping[str, ToolKind] = {
    "bash": "command",
    "edit": "edit",
    "write": "write",
    "read": "read",
    "grep": "search",
    "find": "search",
    "ls": "search",
    "subagent": "agent",
    "MonitorCreate": "wait",
    "LoopCreate": "wait",
    "goal_wait": "wait",
}

#: Gemini CLI, from its documentation.
GEMINI: Mapping[str, ToolKind] = {
    "run_shell_command": "command",
    "replace": "edit",
    "write_file": "write",
    "read_file": "read",
    "read_many_files": "read",
    "glob": "search",
    "search_file_content": "search",
    "grep_search": "search",
    "list_directory": "search",
    "web_fetch": "fetch",
    "google_web_search": "fetch",
    "ask_user": "question",
    "exit_plan_mode": "plan",
    "write_todos": "todos",
}

#: Cursor, from third-party pages.
CURSOR: Mapping[str, ToolKind] = {
    "Shell": "command",
    "run_terminal_cmd": "command",
    "Edit": "edit",
    "StrReplace": "edit",
    "edit_file": "edit",
    "search_replace": "edit",
    "Delete": "edit",
    "delete_file": "edit",
    "Write": "write",
    "Read": "read",
    "read_file": "read",
    "Grep": "search",
    "Glob": "search",
    "LS": "search",
    "codebase_search": "search",
    "grep_search": "search",
    "list_dir": "search",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "web_search": "fetch",
    "AskQuestion": "question",
    "TodoWrite": "todos",
    "todo_write": "todos",
    "Task": "agent",
}

#: OpenCode, from its plugin types.
OPENCODE: Mapping[str, ToolKind] = {
    "bash": "command",
    "edit": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "apply_patch": "edit",
    "write": "write",
    "read": "read",
    "grep": "search",
    "glob": "search",
    "list": "search",
    "webfetch": "fetch",
    "websearch": "fetch",
    "question": "question",
    "todowrite": "todos",
    "task": "agent",
}

#: Names that mean the same wherever an embedder's own host uses them; in small letters.
COMMON: Mapping[str, ToolKind] = {
    "bash": "command",
    "bash_persistent": "command",
    "pwsh": "command",
    "pwsh_persistent": "command",
    "shell": "command",
    "edit": "edit",
    "apply_patch": "edit",
    "write": "write",
    "read": "read",
    "read_image": "read",
    "grep": "search",
    "glob": "search",
    "web_fetch": "fetch",
    "web_search": "fetch",
    "ask_user_question": "question",
    "todo_write": "todos",
    "send_message": "message",
    "agent_send_message": "message",
    "agent_check_mailbox": "message",
    "send_input": "message",
    "mailbox": "message",
}

HOSTS: Mapping[str, Mapping[str, ToolKind]] = {
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "pi": PI,
    "gemini": GEMINI,
    "cursor": CURSOR,
    "opencode": OPENCODE,
}

#: Tools that end a background task or a child, and where they name it.
STOPS = frozenset({"KillShell", "KillBash", "TaskStop", "close_agent"})
STOP_KEYS = ("task_id", "shell_id", "bash_id", "agent_id", "id")


def kind_of(host: str, tool: str) -> ToolKind:
    """What a tool is for. A host without a table of its own is read by ``COMMON``.

    >>> kind_of("claude-code", "MultiEdit"), kind_of("claude-code", "mcp__jira__search")
    ('edit', 'other')
    >>> kind_of("my-own-host", "Bash")
    'command'
    """
    table = HOSTS.get(host)
    return COMMON.get(tool.lower(), "other") if table is None else table.get(tool, "other")
